// The JDK's provider for PKCS #11 on a token: what programs do with keys that stay.

import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Security;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import java.util.Arrays;
import java.util.Collections;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.KeyGenerator;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

public final class Client {
    private static final byte[] TEXT = "keys that stay".repeat(100).getBytes();

    private static Provider token;

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static KeyPair pair(String algorithm, int bits, String curve) throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance(algorithm, token);
        if (curve != null) {
            generator.initialize(new ECGenParameterSpec(curve));
        } else {
            generator.initialize(bits);
        }
        return generator.generateKeyPair();
    }

    // Signs in the token, and verifies both there and with the JDK's own code.
    private static void signs(String algorithm, PrivateKey key, PublicKey shown) throws Exception {
        Signature signer = Signature.getInstance(algorithm, token);
        boolean pss = algorithm.equals("RSASSA-PSS");
        PSSParameterSpec spec = new PSSParameterSpec("SHA-256", "MGF1", MGF1ParameterSpec.SHA256, 32, 1);
        if (pss) {
            signer.setParameter(spec);
        }
        signer.initSign(key);
        signer.update(TEXT, 0, 100);
        signer.update(TEXT, 100, TEXT.length - 100);
        byte[] signature = signer.sign();
        String family = shown.getAlgorithm();
        PublicKey plain =
            java.security.KeyFactory.getInstance(family, family.equals("EC") ? "SunEC" : "SunRsaSign")
                .generatePublic(new java.security.spec.X509EncodedKeySpec(shown.getEncoded()));
        for (boolean there : new boolean[] {true, false}) {
            Signature verifier = there ? Signature.getInstance(algorithm, token) : Signature.getInstance(algorithm);
            if (pss) {
                verifier.setParameter(spec);
            }
            verifier.initVerify(there ? shown : plain);
            verifier.update(TEXT);
            check(verifier.verify(signature), algorithm + " verifies, in the token " + there);
            verifier.update(TEXT, 1, 10);
            check(!verifier.verify(signature), algorithm + " refuses another text, in the token " + there);
        }
        System.out.println("signs " + algorithm);
    }

    private static void signatures() throws Exception {
        KeyPair rsa = pair("RSA", 2048, null);
        for (String hash : new String[] {"SHA1", "SHA224", "SHA256", "SHA384", "SHA512"}) {
            signs(hash + "withRSA", rsa.getPrivate(), rsa.getPublic());
        }
        signs("RSASSA-PSS", rsa.getPrivate(), rsa.getPublic());
        for (String curve : new String[] {"secp256r1", "secp384r1", "secp521r1"}) {
            KeyPair ec = pair("EC", 0, curve);
            for (String hash : new String[] {"SHA1", "SHA224", "SHA256", "SHA384", "SHA512"}) {
                signs(hash + "withECDSA", ec.getPrivate(), ec.getPublic());
            }
            KeyPair other = pair("EC", 0, curve);
            byte[][] secrets = new byte[2][];
            for (int side = 0; side < 2; side++) {
                KeyAgreement agreement = KeyAgreement.getInstance("ECDH", token);
                agreement.init((side == 0 ? ec : other).getPrivate());
                agreement.doPhase((side == 0 ? other : ec).getPublic(), true);
                secrets[side] = agreement.generateSecret();
            }
            check(secrets[0].length >= 32 && Arrays.equals(secrets[0], secrets[1]), "both sides agree");
            System.out.println("agrees " + curve);
        }
        for (String form : new String[] {"RSA/ECB/PKCS1Padding", "RSA/ECB/NoPadding"}) {
            Cipher cipher = Cipher.getInstance(form, token);
            cipher.init(Cipher.ENCRYPT_MODE, rsa.getPublic());
            byte[] text = form.contains("PKCS1") ? Arrays.copyOf(TEXT, 40) : Arrays.copyOf(new byte[1], 256);
            text[text.length - 1] = 7;
            byte[] sealed = cipher.doFinal(text);
            cipher.init(Cipher.DECRYPT_MODE, rsa.getPrivate());
            check(Arrays.equals(cipher.doFinal(sealed), text), form);
        }
        System.out.println("decrypts RSA");
    }

    // The token and the JDK's own code compute the same, and each opens what the other sealed.
    private static void ciphers() throws Exception {
        SecretKeySpec plain = new SecretKeySpec(Arrays.copyOf(TEXT, 32), "AES");
        IvParameterSpec iv = new IvParameterSpec(Arrays.copyOf(TEXT, 16));
        String[] forms = {
            "AES/GCM/NoPadding", "AES/CBC/PKCS5Padding", "AES/CBC/NoPadding", "AES/CTR/NoPadding",
            "AES/ECB/NoPadding", "AES/ECB/PKCS5Padding", "DESede/CBC/PKCS5Padding", "DESede/ECB/PKCS5Padding",
        };
        for (String form : forms) {
            boolean des = form.startsWith("DES");
            SecretKeySpec key = des ? new SecretKeySpec(Arrays.copyOf(TEXT, 24), "DESede") : plain;
            byte[] text = form.endsWith("NoPadding") ? Arrays.copyOf(TEXT, 1392) : TEXT;
            var spec = form.contains("ECB") ? null
                : form.contains("GCM") ? new GCMParameterSpec(128, Arrays.copyOf(TEXT, 12))
                : des ? new IvParameterSpec(Arrays.copyOf(TEXT, 8)) : iv;
            Cipher there = Cipher.getInstance(form, token);
            Cipher here = Cipher.getInstance(form, "SunJCE");
            there.init(Cipher.ENCRYPT_MODE, key, spec);
            here.init(Cipher.ENCRYPT_MODE, key, spec);
            if (form.contains("GCM")) {
                there.updateAAD(TEXT, 0, 20);
                here.updateAAD(TEXT, 0, 20);
            }
            java.io.ByteArrayOutputStream sealed = new java.io.ByteArrayOutputStream();
            for (int at = 0; at < text.length; at += 100) {
                byte[] part = there.update(text, at, Math.min(100, text.length - at));
                if (part != null) {
                    sealed.write(part);
                }
            }
            sealed.write(there.doFinal());
            check(Arrays.equals(sealed.toByteArray(), here.doFinal(text)), form);
            there.init(Cipher.DECRYPT_MODE, key, spec);
            if (form.contains("GCM")) {
                there.updateAAD(TEXT, 0, 20);
            }
            check(Arrays.equals(there.doFinal(sealed.toByteArray()), text), form + " comes back");
            if (form.contains("GCM")) {
                byte[] forged = sealed.toByteArray();
                forged[10] ^= 1;
                there.init(Cipher.DECRYPT_MODE, key, spec);
                there.updateAAD(TEXT, 0, 20);
                try {
                    there.doFinal(forged);
                    check(false, "a forged text is refused");
                } catch (AEADBadTagException refused) {
                    System.out.println("refuses a forged text");
                }
            }
            System.out.println("ciphers " + form);
        }
        KeyGenerator generator = KeyGenerator.getInstance("AES", token);
        generator.init(256);
        SecretKey made = generator.generateKey();
        Cipher gcm = Cipher.getInstance("AES/GCM/NoPadding", token);
        gcm.init(Cipher.ENCRYPT_MODE, made);
        byte[] sealed = gcm.doFinal(TEXT);
        GCMParameterSpec spec = gcm.getParameters().getParameterSpec(GCMParameterSpec.class);
        gcm.init(Cipher.DECRYPT_MODE, made, spec);
        check(Arrays.equals(gcm.doFinal(sealed), TEXT), "a key that the token made");
        Cipher wrap = Cipher.getInstance("RSA/ECB/PKCS1Padding", token);
        KeyPair rsa = pair("RSA", 2048, null);
        wrap.init(Cipher.WRAP_MODE, rsa.getPublic());
        byte[] wrapped = wrap.wrap(plain);
        wrap.init(Cipher.UNWRAP_MODE, rsa.getPrivate());
        Key back = wrap.unwrap(wrapped, "AES", Cipher.SECRET_KEY);
        Cipher ecb = Cipher.getInstance("AES/ECB/NoPadding", token);
        ecb.init(Cipher.ENCRYPT_MODE, back);
        Cipher own = Cipher.getInstance("AES/ECB/NoPadding", "SunJCE");
        own.init(Cipher.ENCRYPT_MODE, plain);
        check(Arrays.equals(ecb.doFinal(new byte[16]), own.doFinal(new byte[16])), "an unwrapped key");
        System.out.println("wraps");
    }

    private static void hashes() throws Exception {
        for (String hash : new String[] {"MD5", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512", "SHA3-256", "SHA3-512"}) {
            MessageDigest there = MessageDigest.getInstance(hash, token);
            MessageDigest here = MessageDigest.getInstance(hash, "SUN");
            there.update(TEXT, 0, 333);
            MessageDigest copy = (MessageDigest) there.clone();
            there.update(TEXT, 333, 100);
            check(Arrays.equals(there.digest(), here.digest(Arrays.copyOf(TEXT, 433))), hash);
            copy.update((byte) 7);
            byte[] other = Arrays.copyOf(TEXT, 334);
            other[333] = 7;
            check(Arrays.equals(copy.digest(), here.digest(other)), hash + ", a clone");
            System.out.println("digests " + hash);
        }
        for (String mac : new String[] {"HmacMD5", "HmacSHA1", "HmacSHA224", "HmacSHA256", "HmacSHA384", "HmacSHA512"}) {
            SecretKeySpec key = new SecretKeySpec(Arrays.copyOf(TEXT, 40), mac);
            Mac there = Mac.getInstance(mac, token);
            Mac here = Mac.getInstance(mac, "SunJCE");
            there.init(key);
            here.init(key);
            there.update(TEXT, 0, 77);
            there.update(TEXT, 77, 1000);
            check(Arrays.equals(there.doFinal(), here.doFinal(Arrays.copyOf(TEXT, 1077))), mac);
            System.out.println("codes " + mac);
        }
        SecureRandom random = SecureRandom.getInstance("PKCS11", token);
        byte[] bytes = new byte[100000];
        random.nextBytes(bytes);
        int[] counts = new int[256];
        for (byte one : bytes) {
            counts[one & 255]++;
        }
        check(Arrays.stream(counts).min().getAsInt() > 200, "random bytes look random");
        System.out.println("randoms");
    }

    private static KeyStore store(char[] pin) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS11", token);
        store.load(null, pin);
        return store;
    }

    // Entries that keytool made are used, and others are put, found again by a second look, and removed.
    private static void keystore(char[] pin) throws Exception {
        KeyStore store = store(pin);
        for (String alias : Collections.list(store.aliases())) {
            System.out.println("entry " + alias + " " + store.isKeyEntry(alias));
        }
        for (String alias : new String[] {"rsa", "ec"}) {
            PrivateKey key = (PrivateKey) store.getKey(alias, null);
            check(key.getEncoded() == null, "the private key stays");
            PublicKey shown = store.getCertificate(alias).getPublicKey();
            signs(alias.equals("rsa") ? "SHA256withRSA" : "SHA256withECDSA", key, shown);
        }
        SecretKeySpec key = new SecretKeySpec(Arrays.copyOf(TEXT, 32), "AES");
        store.setEntry("secret", new KeyStore.SecretKeyEntry(key), null);
        KeyStore again = store(pin);
        check(again.isKeyEntry("secret"), "a secret key is found again");
        Cipher ecb = Cipher.getInstance("AES/ECB/NoPadding", token);
        ecb.init(Cipher.ENCRYPT_MODE, again.getKey("secret", null));
        Cipher own = Cipher.getInstance("AES/ECB/NoPadding", "SunJCE");
        own.init(Cipher.ENCRYPT_MODE, key);
        check(Arrays.equals(ecb.doFinal(new byte[16]), own.doFinal(new byte[16])), "it is the same key");
        again.deleteEntry("secret");
        check(!store(pin).containsAlias("secret"), "it is removed");
        System.out.println("stores");
    }

    // A server with the token's keys, for as many connections as asked for.
    private static void serve(char[] pin, int connections) throws Exception {
        KeyStore store = store(pin);
        KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
        keys.init(store, null);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        SSLServerSocket server = (SSLServerSocket)
            context.getServerSocketFactory().createServerSocket(0, 10, java.net.InetAddress.getLoopbackAddress());
        System.out.println("port " + server.getLocalPort());
        server.setSoTimeout(60000);
        for (int i = 0; i < connections; i++) {
            try (SSLSocket socket = (SSLSocket) server.accept()) {
                socket.setSoTimeout(30000);
                socket.startHandshake();
                // The client says no more.
                socket.getInputStream().read();
            }
        }
    }

    public static void main(String[] words) throws Exception {
        token = Security.getProvider("SunPKCS11").configure(words[0]);
        char[] pin = words[1].toCharArray();
        Security.addProvider(token);
        store(pin);
        if (words[2].equals("serve")) {
            serve(pin, Integer.parseInt(words[3]));
            return;
        }
        signatures();
        ciphers();
        hashes();
        keystore(pin);
    }
}
