//! The examples of RFC 6979, on every row.
//!
//! Ref. RFC 6979 §A.2.5 to §A.2.7.

mod nist_common;

use std::collections::BTreeSet;

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_publickey::ecdh;
use millstream_publickey::ecdsa::{Curve, Message, PrivateKey, PublicKey};
use millstream_testkit::{Ran, cavp, hex};
use nist_common::signature_of_der;

/// A key pair, and the signatures of messages.
struct Example {
    curve: Curve,
    private: &'static str,
    public: [&'static str; 2],
    signatures: &'static [(&'static str, Hash, &'static str, &'static str)],
}

#[test]
fn signatures_of_rfc_6979() {
    let mut ran = Ran::new("rfc6979");
    let mut cases = 0;
    for example in EXAMPLES {
        for kernel in example.curve.table().available(Features::hardware()) {
            let key = PrivateKey::with_kernel(Features::hardware(), kernel, &hex(example.private)).unwrap();
            let point = [&[4], &hex(example.public[0])[..], &hex(example.public[1])].concat();
            let public = PublicKey::with_kernel(kernel, &point).unwrap();
            assert_eq!(*key.public().to_bytes(), point);
            assert_eq!(PublicKey::with_kernel(kernel, &public.to_compressed()).unwrap(), public);
            for (message, hash, r, s) in example.signatures {
                let digest = HashKernel::best(Features::none(), *hash).digest(message.as_bytes());
                let signature = [hex(r), hex(s)].concat();
                for message in [
                    Message::hashed(Features::hardware(), *hash, message.as_bytes()),
                    Message::digest(*hash, &digest),
                ] {
                    assert_eq!(*key.sign_deterministic(&message), signature, "{} {hash:?}", example.curve);
                    public.verify(&message, &signature).unwrap();
                }
                cases += 1;
            }
            ran.kernel(&format!("{} {}", example.curve, kernel.kernel().name));
        }
        ran.missing(rows(example.curve));
    }
    ran.at_least(3);
    assert!(cases >= 30, "{cases}");
}

/// The same examples as OpenSSL's own tests have them, which were read from the RFC by others: no value here is mistyped, and none is left out.
#[test]
fn the_examples_are_those_that_openssl_tests_with() {
    let text = cavp::text("asymmetric/ECDSA/RFC6979/evppkey_ecdsa_rfc6979.txt");
    let mut published = BTreeSet::new();
    for case in text.split("\n\n") {
        let field = |name: &str| {
            let line = case.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='));
            line.map(str::trim)
        };
        let Some(hash) = field("DigestSign") else { continue };
        let key = field("Key").expect("a key");
        let Some(curve) = Curve::ALL.into_iter().find(|curve| key == format!("P-{}_PRIV", curve.bits()))
        else {
            continue;
        };
        let message = field("Input").expect("a message").trim_matches('"');
        let signature = signature_of_der(&hex(field("Output").expect("a signature")), curve).expect("DER");
        published.insert((curve.bits(), hash.to_owned(), message.to_owned(), signature));
    }
    let mut ours = BTreeSet::new();
    for example in EXAMPLES {
        for (message, hash, r, s) in example.signatures {
            let name = hash.name().replace('-', "").to_uppercase();
            ours.insert((example.curve.bits(), name, (*message).to_owned(), [hex(r), hex(s)].concat()));
        }
    }
    assert_eq!(published.len(), 30);
    assert_eq!(published, ours);
}

#[test]
fn both_sides_agree() {
    for example in EXAMPLES {
        for kernel in example.curve.table().available(Features::hardware()) {
            let ours =
                ecdh::PrivateKey::with_kernel(Features::hardware(), kernel, &hex(example.private)).unwrap();
            let mut one = vec![0; example.curve.bytes()];
            one[example.curve.bytes() - 1] = 1;
            let base = ecdh::PrivateKey::with_kernel(Features::hardware(), kernel, &one).unwrap();
            // The x coordinate of the public key.
            assert_eq!(*ours.agree(&base.public()).unwrap(), hex(example.public[0]));
            assert_eq!(*base.agree(&ours.public()).unwrap(), hex(example.public[0]));
        }
    }
}

fn rows(curve: Curve) -> Vec<(&'static str, millstream_cpu::FeatureSet)> {
    use millstream_publickey::Engine;
    curve.table().kernels().iter().map(|kernel| (kernel.name, kernel.requires)).collect()
}

const EXAMPLES: &[Example] = &[
    Example {
        curve: Curve::P256,
        private: "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
        public: [
            "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6",
            "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
        ],
        signatures: &[
            (
                "sample",
                Hash::Sha1,
                "61340c88c3aaebeb4f6d667f672ca9759a6ccaa9fa8811313039ee4a35471d32",
                "6d7f147dac089441bb2e2fe8f7a3fa264b9c475098fdcf6e00d7c996e1b8b7eb",
            ),
            (
                "sample",
                Hash::Sha224,
                "53b2fff5d1752b2c689df257c04c40a587fababb3f6fc2702f1343af7ca9aa3f",
                "b9afb64fdc03dc1a131c7d2386d11e349f070aa432a4acc918bea988bf75c74c",
            ),
            (
                "sample",
                Hash::Sha256,
                "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
                "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
            ),
            (
                "sample",
                Hash::Sha384,
                "0eafea039b20e9b42309fb1d89e213057cbf973dc0cfc8f129edddc800ef7719",
                "4861f0491e6998b9455193e34e7b0d284ddd7149a74b95b9261f13abde940954",
            ),
            (
                "sample",
                Hash::Sha512,
                "8496a60b5e9b47c825488827e0495b0e3fa109ec4568fd3f8d1097678eb97f00",
                "2362ab1adbe2b8adf9cb9edab740ea6049c028114f2460f96554f61fae3302fe",
            ),
            (
                "test",
                Hash::Sha1,
                "0cbcc86fd6abd1d99e703e1ec50069ee5c0b4ba4b9ac60e409e8ec5910d81a89",
                "01b9d7b73dfaa60d5651ec4591a0136f87653e0fd780c3b1bc872ffdeae479b1",
            ),
            (
                "test",
                Hash::Sha224,
                "c37edb6f0ae79d47c3c27e962fa269bb4f441770357e114ee511f662ec34a692",
                "c820053a05791e521fcaad6042d40aea1d6b1a540138558f47d0719800e18f2d",
            ),
            (
                "test",
                Hash::Sha256,
                "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367",
                "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
            ),
            (
                "test",
                Hash::Sha384,
                "83910e8b48bb0c74244ebdf7f07a1c5413d61472bd941ef3920e623fbccebeb6",
                "8ddbec54cf8cd5874883841d712142a56a8d0f218f5003cb0296b6b509619f2c",
            ),
            (
                "test",
                Hash::Sha512,
                "461d93f31b6540894788fd206c07cfa0cc35f46fa3c91816fff1040ad1581a04",
                "39af9f15de0db8d97e72719c74820d304ce5226e32dedae67519e840d1194e55",
            ),
        ],
    },
    Example {
        curve: Curve::P384,
        private: "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5",
        public: [
            "ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e06aae5286b300c64def8f0ea9055866064a254515480bc13",
            "8015d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9f54ca84b3f1c9db1288b231c3ae0d4fe7344fd2533264720",
        ],
        signatures: &[
            (
                "sample",
                Hash::Sha1,
                "ec748d839243d6fbef4fc5c4859a7dffd7f3abddf72014540c16d73309834fa37b9ba002899f6fda3a4a9386790d4eb2",
                "a3bcfa947beef4732bf247ac17f71676cb31a847b9ff0cbc9c9ed4c1a5b3facf26f49ca031d4857570ccb5ca4424a443",
            ),
            (
                "sample",
                Hash::Sha224,
                "42356e76b55a6d9b4631c865445dbe54e056d3b3431766d0509244793c3f9366450f76ee3de43f5a125333a6be060122",
                "9da0c81787064021e78df658f2fbb0b042bf304665db721f077a4298b095e4834c082c03d83028efbf93a3c23940ca8d",
            ),
            (
                "sample",
                Hash::Sha256,
                "21b13d1e013c7fa1392d03c5f99af8b30c570c6f98d4ea8e354b63a21d3daa33bde1e888e63355d92fa2b3c36d8fb2cd",
                "f3aa443fb107745bf4bd77cb3891674632068a10ca67e3d45db2266fa7d1feebefdc63eccd1ac42ec0cb8668a4fa0ab0",
            ),
            (
                "sample",
                Hash::Sha384,
                "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe46",
                "99ef4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8",
            ),
            (
                "sample",
                Hash::Sha512,
                "ed0959d5880ab2d869ae7f6c2915c6d60f96507f9cb3e047c0046861da4a799cfe30f35cc900056d7c99cd7882433709",
                "512c8cceee3890a84058ce1e22dbc2198f42323ce8aca9135329f03c068e5112dc7cc3ef3446defceb01a45c2667fdd5",
            ),
            (
                "test",
                Hash::Sha1,
                "4bc35d3a50ef4e30576f58cd96ce6bf638025ee624004a1f7789a8b8e43d0678acd9d29876daf46638645f7f404b11c7",
                "d5a6326c494ed3ff614703878961c0fde7b2c278f9a65fd8c4b7186201a2991695ba1c84541327e966fa7b50f7382282",
            ),
            (
                "test",
                Hash::Sha224,
                "e8c9d0b6ea72a0e7837fea1d14a1a9557f29faa45d3e7ee888fc5bf954b5e62464a9a817c47ff78b8c11066b24080e72",
                "07041d4a7a0379ac7232ff72e6f77b6ddb8f09b16cce0ec3286b2bd43fa8c6141c53ea5abef0d8231077a04540a96b66",
            ),
            (
                "test",
                Hash::Sha256,
                "6d6defac9ab64dabafe36c6bf510352a4cc27001263638e5b16d9bb51d451559f918eedaf2293be5b475cc8f0188636b",
                "2d46f3becbcc523d5f1a1256bf0c9b024d879ba9e838144c8ba6baeb4b53b47d51ab373f9845c0514eefb14024787265",
            ),
            (
                "test",
                Hash::Sha384,
                "8203b63d3c853e8d77227fb377bcf7b7b772e97892a80f36ab775d509d7a5feb0542a7f0812998da8f1dd3ca3cf023db",
                "ddd0760448d42d8a43af45af836fce4de8be06b485e9b61b827c2f13173923e06a739f040649a667bf3b828246baa5a5",
            ),
            (
                "test",
                Hash::Sha512,
                "a0d5d090c9980faf3c2ce57b7ae951d31977dd11c775d314af55f76c676447d06fb6495cd21b4b6e340fc236584fb277",
                "976984e59b4c77b0e8e4460dca3d9f20e07b9bb1f63beefaf576f6b2e8b224634a2092cd3792e0159ad9cee37659c736",
            ),
        ],
    },
    Example {
        curve: Curve::P521,
        private: "00fad06daa62ba3b25d2fb40133da757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c70855836a6d16fcc1466f6d8fbec67db89ec0c08b0e996b83538",
        public: [
            "01894550d0785932e00eaa23b694f213f8c3121f86dc97a04e5a7167db4e5bcd371123d46e45db6b5d5370a7f20fb633155d38ffa16d2bd761dcac474b9a2f5023a4",
            "00493101c962cd4d2fddf782285e64584139c2f91b47f87ff82354d6630f746a28a0db25741b5b34a828008b22acc23f924faafbd4d33f81ea66956dfeaa2bfdfcf5",
        ],
        signatures: &[
            (
                "sample",
                Hash::Sha1,
                "00343b6ec45728975ea5cba6659bbb6062a5ff89eea58be3c80b619f322c87910fe092f7d45bb0f8eee01ed3f20babec079d202ae677b243ab40b5431d497c55d75d",
                "00e7b0e675a9b24413d448b8cc119d2bf7b2d2df032741c096634d6d65d0dbe3d5694625fb9e8104d3b842c1b0e2d0b98bea19341e8676aef66ae4eba3d5475d5d16",
            ),
            (
                "sample",
                Hash::Sha224,
                "01776331cfcdf927d666e032e00cf776187bc9fdd8e69d0dabb4109ffe1b5e2a30715f4cc923a4a5e94d2503e9acfed92857b7f31d7152e0f8c00c15ff3d87e2ed2e",
                "0050cb5265417fe2320bbb5a122b8e1a32bd699089851128e360e620a30c7e17ba41a666af126ce100e5799b153b60528d5300d08489ca9178fb610a2006c254b41f",
            ),
            (
                "sample",
                Hash::Sha256,
                "01511bb4d675114fe266fc4372b87682baecc01d3cc62cf2303c92b3526012659d16876e25c7c1e57648f23b73564d67f61c6f14d527d54972810421e7d87589e1a7",
                "004a171143a83163d6df460aaf61522695f207a58b95c0644d87e52aa1a347916e4f7a72930b1bc06dbe22ce3f58264afd23704cbb63b29b931f7de6c9d949a7ecfc",
            ),
            (
                "sample",
                Hash::Sha384,
                "01ea842a0e17d2de4f92c15315c63ddf72685c18195c2bb95e572b9c5136ca4b4b576ad712a52be9730627d16054ba40cc0b8d3ff035b12ae75168397f5d50c67451",
                "01f21a3cee066e1961025fb048bd5fe2b7924d0cd797babe0a83b66f1e35eeaf5fde143fa85dc394a7dee766523393784484bdf3e00114a1c857cde1aa203db65d61",
            ),
            (
                "sample",
                Hash::Sha512,
                "00c328fafcbd79dd77850370c46325d987cb525569fb63c5d3bc53950e6d4c5f174e25a1ee9017b5d450606add152b534931d7d4e8455cc91f9b15bf05ec36e377fa",
                "00617cce7cf5064806c467f678d3b4080d6f1cc50af26ca209417308281b68af282623eaa63e5b5c0723d8b8c37ff0777b1a20f8ccb1dccc43997f1ee0e44da4a67a",
            ),
            (
                "test",
                Hash::Sha1,
                "013bad9f29abe20de37ebeb823c252ca0f63361284015a3bf430a46aaa80b87b0693f0694bd88afe4e661fc33b094cd3b7963bed5a727ed8bd6a3a202abe009d0367",
                "01e9bb81ff7944ca409ad138dbbee228e1afcc0c890fc78ec8604639cb0dbdc90f717a99ead9d272855d00162ee9527567dd6a92cbd629805c0445282bbc916797ff",
            ),
            (
                "test",
                Hash::Sha224,
                "01c7ed902e123e6815546065a2c4af977b22aa8eaddb68b2c1110e7ea44d42086bfe4a34b67ddc0e17e96536e358219b23a706c6a6e16ba77b65e1c595d43cae17fb",
                "0177336676304fcb343ce028b38e7b4fba76c1c1b277da18cad2a8478b2a9a9f5bec0f3ba04f35db3e4263569ec6aade8c92746e4c82f8299ae1b8f1739f8fd519a4",
            ),
            (
                "test",
                Hash::Sha256,
                "000e871c4a14f993c6c7369501900c4bc1e9c7b0b4ba44e04868b30b41d8071042eb28c4c250411d0ce08cd197e4188ea4876f279f90b3d8d74a3c76e6f1e4656aa8",
                "00cd52dbaa33b063c3a6cd8058a1fb0a46a4754b034fcc644766ca14da8ca5ca9fde00e88c1ad60ccba759025299079d7a427ec3cc5b619bfbc828e7769bcd694e86",
            ),
            (
                "test",
                Hash::Sha384,
                "014bee21a18b6d8b3c93fab08d43e739707953244fdbe924fa926d76669e7ac8c89df62ed8975c2d8397a65a49dcc09f6b0ac62272741924d479354d74ff6075578c",
                "0133330865c067a0eaf72362a65e2d7bc4e461e8c8995c3b6226a21bd1aa78f0ed94fe536a0dca35534f0cd1510c41525d163fe9d74d134881e35141ed5e8e95b979",
            ),
            (
                "test",
                Hash::Sha512,
                "013e99020abf5cee7525d16b69b229652ab6bdf2affcaef38773b4b7d08725f10cdb93482fdcc54edcee91eca4166b2a7c6265ef0ce2bd7051b7cef945babd47ee6d",
                "01fbd0013c674aa79cb39849527916ce301c66ea7ce8b80682786ad60f98f7e78a19ca69eff5c57400e3b3a0ad66ce0978214d13baf4e9ac60752f7b155e2de4dce3",
            ),
        ],
    },
];
