//! The provider as OpenSSL drives it: a context of any algorithm, and calls in any order with parameters of any names, types and
//! lengths. No call panics, and none touches a byte outside the places that it was given.
#![cfg_attr(fuzzing, no_main)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use millstream_provider::ffi::OSSL_provider_init;
use millstream_provider::fuzzing::abi::{
    self, Dispatch, OCTET_PTR, OCTET_STRING, OsslAlgorithm, OsslParam, UNMODIFIED, UNSIGNED_INTEGER, UTF8_PTR,
};

/// Names that some algorithm knows.
const NAMES: [&CStr; 29] = [
    c"key",
    c"keylen",
    c"iv",
    c"ivlen",
    c"updated-iv",
    c"num",
    c"padding",
    c"mode",
    c"size",
    c"digest",
    c"cipher",
    c"properties",
    c"salt",
    c"info",
    c"label",
    c"prefix",
    c"data",
    c"tag",
    c"taglen",
    c"randkey",
    c"tls-version",
    c"tls-mac-size",
    c"tls-mac",
    c"tlsaad",
    c"tlsaadpad",
    c"tlsivfixed",
    c"tlsivgen",
    c"mackey",
    c"xof",
];

/// Texts that some algorithm knows.
const TEXTS: [&CStr; 8] = [
    c"SHA2-256",
    c"SHA1",
    c"MD5",
    c"AES-128-CBC",
    c"EXTRACT_ONLY",
    c"EXPAND_ONLY",
    c"provider=default",
    c"?fips=yes",
];

#[derive(Arbitrary, Debug)]
enum Value {
    Nothing(u16),
    Number(u32),
    Bytes(Vec<u8>),
    Text(u8),
    Pointer(u16),
}

#[derive(Arbitrary, Debug)]
struct One {
    name: u8,
    /// The type that the value has, or else this one.
    other_type: Option<u8>,
    value: Value,
}

#[derive(Arbitrary, Debug)]
enum Call {
    Init { encrypt: bool, key: Option<Vec<u8>>, iv: Option<Vec<u8>>, params: Vec<One> },
    FittingInit { encrypt: bool, key: u8 },
    Set(Vec<One>),
    Get(Vec<One>),
    Update { input: Vec<u8>, room: u16, in_place: bool },
    Associate(Vec<u8>),
    Final { room: u8 },
    Derive { room: u8, params: Vec<One> },
    Duplicate,
}

#[derive(Arbitrary, Debug)]
struct Case {
    operation: u8,
    algorithm: u8,
    calls: Vec<Call>,
}

/// Parameters with what keeps their places.
struct Parameters {
    array: Vec<OsslParam>,
    _places: Vec<Box<[u8]>>,
    #[allow(clippy::vec_box, reason = "parameters point to them, so they stay where they are")]
    _pointers: Vec<Box<*const c_void>>,
}

impl Parameters {
    fn new(all: &[One]) -> Self {
        let mut made = Parameters { array: Vec::new(), _places: Vec::new(), _pointers: Vec::new() };
        for one in all {
            let name = NAMES[usize::from(one.name) % NAMES.len()];
            let param = made.param(name, one);
            made.array.push(param);
        }
        made.array.push(OsslParam::END);
        made
    }

    fn param(&mut self, key: &'static CStr, one: &One) -> OsslParam {
        let (usual, data, mut data_size) = match &one.value {
            Value::Nothing(claimed) => (OCTET_STRING, ptr::null_mut(), usize::from(*claimed)),
            Value::Number(number) => (UNSIGNED_INTEGER, self.place(&number.to_ne_bytes()), 4),
            Value::Bytes(bytes) => (OCTET_STRING, self.place(bytes), bytes.len()),
            Value::Text(text) => {
                let text = TEXTS[usize::from(*text) % TEXTS.len()].to_bytes_with_nul();
                (abi::UTF8_STRING, self.place(text), text.len() - 1)
            }
            Value::Pointer(claimed) => {
                self._pointers.push(Box::new(ptr::null()));
                let pointer = self._pointers.last_mut().expect("one was pushed");
                (UTF8_PTR, (&raw mut **pointer).cast(), usize::from(*claimed))
            }
        };
        let mut data_type = one.other_type.map_or(usual, u32::from);
        // Who claims that there is a pointer has to have one there.
        let is_pointer = matches!(data_type, UTF8_PTR | OCTET_PTR);
        if is_pointer && !data.is_null() && !matches!(one.value, Value::Pointer(_)) {
            data_type = usual;
        } else if !is_pointer && matches!(one.value, Value::Pointer(_)) {
            data_size = data_size.min(size_of::<*const c_void>());
        }
        OsslParam { key: key.as_ptr(), data_type, data, data_size, return_size: UNMODIFIED }
    }

    /// A place that is as long as its value. Two parameters of OpenSSL's say less than there is room for: `randkey`, which is a
    /// key long, and `tlsivgen`, where no room means room for a vector; so they get more.
    fn place(&mut self, bytes: &[u8]) -> *mut c_void {
        self._places.push(bytes.into());
        self._places.last_mut().expect("one was pushed").as_mut_ptr().cast()
    }

    fn roomy(mut self) -> Self {
        for param in &mut self.array {
            // SAFETY: null, or one of `NAMES`.
            let fills = !param.key.is_null()
                && [c"randkey", c"tlsivgen"].contains(&unsafe { CStr::from_ptr(param.key) });
            if fills && !param.data.is_null() && param.data_type == OCTET_STRING {
                self._places.push(vec![0; 1 << 16].into());
                param.data = self._places.last_mut().expect("one was pushed").as_mut_ptr().cast();
            }
        }
        self
    }

    fn as_ptr(&mut self) -> *mut OsslParam {
        self.array.as_mut_ptr()
    }
}

/// The functions of one algorithm, by number.
struct Functions(*const Dispatch);

impl Functions {
    /// The function with that number, which has type `F`.
    ///
    /// # Safety
    /// `F` is the type that belongs to the number.
    unsafe fn get<F: Copy>(&self, id: c_int) -> Option<F> {
        assert_eq!(size_of::<F>(), size_of::<abi::Function>());
        let mut next = self.0;
        // SAFETY: a table that ends with 0.
        unsafe {
            while (*next).id != 0 {
                if (*next).id == id {
                    return (*next).function.map(|function| std::mem::transmute_copy(&function));
                }
                next = next.add(1);
            }
        }
        None
    }
}

type Query = unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const OsslAlgorithm;
type New = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type WithParams = unsafe extern "C" fn(*mut c_void, *mut OsslParam) -> c_int;
type CipherInit =
    unsafe extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize, *const OsslParam) -> c_int;
type MacInit = unsafe extern "C" fn(*mut c_void, *const u8, usize, *const OsslParam) -> c_int;
type CipherUpdate = unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize, *const u8, usize) -> c_int;
type Update = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int;
type Final = unsafe extern "C" fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int;
type Derive = unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const OsslParam) -> c_int;

/// The provider, and the tables of its four operations.
struct Provider {
    context: usize,
    tables: [Vec<usize>; 4],
}

fn provider() -> &'static Provider {
    static PROVIDER: OnceLock<Provider> = OnceLock::new();
    PROVIDER.get_or_init(|| {
        let (mut context, mut functions) = (ptr::null_mut(), ptr::null());
        // SAFETY: a core that offers nothing; tables end as OpenSSL's do.
        unsafe {
            assert_eq!(OSSL_provider_init(ptr::null(), ptr::null(), &mut functions, &mut context), 1);
            let query: Query =
                Functions(functions).get(abi::PROVIDER_QUERY_OPERATION).expect("it can be asked");
            let tables = [abi::OP_DIGEST, abi::OP_CIPHER, abi::OP_MAC, abi::OP_KDF].map(|operation| {
                let mut next = query(context, operation, &mut 0);
                let mut table = Vec::new();
                while !(*next).names.is_null() {
                    table.push((*next).functions as usize);
                    next = next.add(1);
                }
                table
            });
            Provider { context: context as usize, tables }
        }
    })
}

/// The numbers of one operation's functions; 0 where it has none of that kind.
struct Ids {
    new: c_int,
    free: c_int,
    duplicate: c_int,
    set: c_int,
    get: c_int,
    update: c_int,
    finish: c_int,
}

const IDS: [Ids; 4] = {
    use abi::{cipher, digest, kdf, mac};
    [
        Ids {
            new: digest::NEWCTX,
            free: digest::FREECTX,
            duplicate: digest::DUPCTX,
            set: 0,
            get: 0,
            update: digest::UPDATE,
            finish: digest::FINAL,
        },
        Ids {
            new: cipher::NEWCTX,
            free: cipher::FREECTX,
            duplicate: cipher::DUPCTX,
            set: cipher::SET_CTX_PARAMS,
            get: cipher::GET_CTX_PARAMS,
            update: cipher::UPDATE,
            finish: cipher::FINAL,
        },
        Ids {
            new: mac::NEWCTX,
            free: mac::FREECTX,
            duplicate: mac::DUPCTX,
            set: mac::SET_CTX_PARAMS,
            get: mac::GET_CTX_PARAMS,
            update: mac::UPDATE,
            finish: mac::FINAL,
        },
        Ids {
            new: kdf::NEWCTX,
            free: kdf::FREECTX,
            duplicate: kdf::DUPCTX,
            set: kdf::SET_CTX_PARAMS,
            get: kdf::GET_CTX_PARAMS,
            update: 0,
            finish: 0,
        },
    ]
};

const DIGEST: usize = 0;
const CIPHER: usize = 1;
const MAC: usize = 2;

struct Driver {
    operation: usize,
    functions: Functions,
    context: *mut c_void,
}

impl Driver {
    /// # Safety
    /// The functions of an algorithm of that operation.
    unsafe fn call(&mut self, call: &Call) {
        let (context, ids) = (self.context, &IDS[self.operation]);
        // SAFETY: functions by their numbers, a context of theirs, arrays that end, and buffers as long as is said.
        unsafe {
            match call {
                Call::Init { encrypt, key, iv, params } => {
                    self.init(*encrypt, key.as_deref(), iv.as_deref(), &mut Parameters::new(params));
                }
                Call::FittingInit { encrypt, key } => {
                    let long = [*key; 64];
                    for len in [16, 32, 24, 8, 64] {
                        if self.init(
                            *encrypt,
                            Some(&long[..len]),
                            Some(&long[..16]),
                            &mut Parameters::new(&[]),
                        ) {
                            return;
                        }
                    }
                }
                Call::Set(params) => {
                    if let Some(set) = self.functions.get::<WithParams>(ids.set) {
                        set(context, Parameters::new(params).as_ptr());
                    }
                }
                Call::Get(params) => {
                    if let Some(get) = self.functions.get::<WithParams>(ids.get) {
                        get(context, Parameters::new(params).roomy().as_ptr());
                    }
                }
                Call::Update { input, room, in_place } => self.update(input, usize::from(*room), *in_place),
                Call::Associate(data) if self.operation == CIPHER => {
                    let update: CipherUpdate = self.functions.get(ids.update).expect("ciphers update");
                    let data: Box<[u8]> = data.as_slice().into();
                    update(context, ptr::null_mut(), &mut 0, 0, data.as_ptr(), data.len());
                }
                Call::Associate(_) => {}
                Call::Final { room } => {
                    if let Some(finish) = self.functions.get::<Final>(ids.finish) {
                        let mut out = vec![0; usize::from(*room)].into_boxed_slice();
                        let mut written = 0;
                        if finish(context, out.as_mut_ptr(), &mut written, out.len()) == 1 {
                            assert!(written <= out.len());
                        }
                    }
                }
                Call::Derive { room, params } if self.operation > MAC => {
                    let derive: Derive = self.functions.get(abi::kdf::DERIVE).expect("a derivation derives");
                    let mut out = vec![0; usize::from(*room)].into_boxed_slice();
                    derive(context, out.as_mut_ptr(), out.len(), Parameters::new(params).as_ptr());
                }
                Call::Derive { .. } => {}
                Call::Duplicate => {
                    let duplicate: New = self.functions.get(ids.duplicate).expect("contexts have copies");
                    let other = duplicate(context);
                    if !other.is_null() {
                        self.free();
                        self.context = other;
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Driver::call`].
    unsafe fn init(
        &self,
        encrypt: bool,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
        params: &mut Parameters,
    ) -> bool {
        let (key, iv) = (key.map(Box::<[u8]>::from), iv.map(Box::<[u8]>::from));
        let parts =
            |bytes: &Option<Box<[u8]>>| bytes.as_ref().map_or((ptr::null(), 0), |b| (b.as_ptr(), b.len()));
        let ((key, key_len), (iv, iv_len)) = (parts(&key), parts(&iv));
        // SAFETY: the caller's promise.
        unsafe {
            match self.operation {
                DIGEST => {
                    let init: WithParams = self.functions.get(abi::digest::INIT).expect("digests begin");
                    init(self.context, params.as_ptr()) == 1
                }
                CIPHER => {
                    let id = if encrypt { abi::cipher::ENCRYPT_INIT } else { abi::cipher::DECRYPT_INIT };
                    let init: CipherInit = self.functions.get(id).expect("ciphers begin");
                    init(self.context, key, key_len, iv, iv_len, params.as_ptr()) == 1
                }
                MAC => {
                    let init: MacInit = self.functions.get(abi::mac::INIT).expect("MACs begin");
                    init(self.context, key, key_len, params.as_ptr()) == 1
                }
                _ => false,
            }
        }
    }

    /// # Safety
    /// As for [`Driver::call`].
    unsafe fn update(&self, input: &[u8], room: usize, in_place: bool) {
        let id = IDS[self.operation].update;
        let mut input: Box<[u8]> = input.into();
        // SAFETY: the caller's promise.
        unsafe {
            if self.operation == CIPHER {
                let update: CipherUpdate = self.functions.get(id).expect("ciphers update");
                let mut out = vec![0; room].into_boxed_slice();
                let (to, room) =
                    if in_place { (input.as_mut_ptr(), input.len()) } else { (out.as_mut_ptr(), room) };
                let mut written = 0;
                if update(self.context, to, &mut written, room, input.as_ptr(), input.len()) == 1 {
                    assert!(written <= room, "{written} bytes in room for {room}");
                }
            } else if let Some(update) = self.functions.get::<Update>(id) {
                update(self.context, input.as_ptr(), input.len());
            }
        }
    }

    fn free(&self) {
        // SAFETY: the function that belongs to the number, and a context that is not used again.
        unsafe { self.functions.get::<Free>(IDS[self.operation].free).expect("contexts end")(self.context) };
    }
}

fuzz_target!(|case: Case| {
    let provider = provider();
    let operation = usize::from(case.operation) % IDS.len();
    let table = &provider.tables[operation];
    let functions = Functions(table[usize::from(case.algorithm) % table.len()] as *const Dispatch);
    // SAFETY: the function that belongs to the number, with the provider's own context.
    let context = unsafe {
        functions.get::<New>(IDS[operation].new).expect("contexts begin")(provider.context as *mut c_void)
    };
    assert!(!context.is_null());
    let mut driver = Driver { operation, functions, context };
    for call in case.calls.iter().take(32) {
        // SAFETY: the functions are those of the operation.
        unsafe { driver.call(call) };
    }
    driver.free();
});
