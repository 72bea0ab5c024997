// Java's cryptography with keys of two tokens by SunPKCS11, and with the same keys in the process, in turns.

import java.io.FileInputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.Security;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public final class Turns {
    private static final int[] SIZES = {64, 1024, 16384};
    private static final String[][] SIGNATURES = {
        {"p-256", "EC", "SHA256withECDSA"}, {"rsa-2048", "RSA", "SHA256withRSA"},
    };

    private static final byte[] SECRET = new byte[32];
    private static final byte[] MESSAGE = "keys that stay, and those that do not".getBytes();

    /** Something that is timed. */
    private interface Work {
        void run() throws Exception;
    }

    /** A place where keys are: a token, or this process, which has no provider of its own. */
    private static final class Where {
        final String name;
        final Provider provider;
        final Key aes;
        final PrivateKey[] signers = new PrivateKey[SIGNATURES.length];
        long nonces;

        Where(String name, Provider provider, char[] pin, PrivateKey[] keys, Certificate[] certificates)
                throws Exception {
            this.name = name;
            this.provider = provider;
            SecretKeySpec secret = new SecretKeySpec(SECRET, "AES");
            if (provider == null) {
                aes = secret;
                System.arraycopy(keys, 0, signers, 0, keys.length);
                return;
            }
            Security.addProvider(provider);
            KeyStore store = KeyStore.getInstance("PKCS11", provider);
            store.load(null, pin);
            store.setEntry("java-aes", new KeyStore.SecretKeyEntry(secret), null);
            for (int i = 0; i < keys.length; i++) {
                store.setKeyEntry("java-" + SIGNATURES[i][0], keys[i], null, new Certificate[] {certificates[i]});
            }
            // What is used is what a program finds that starts now.
            store = KeyStore.getInstance("PKCS11", provider);
            store.load(null, pin);
            aes = store.getKey("java-aes", null);
            for (int i = 0; i < keys.length; i++) {
                signers[i] = (PrivateKey) store.getKey("java-" + SIGNATURES[i][0], null);
                check(signers[i].getEncoded() == null, name + ": the private key came out");
            }
        }

        Cipher cipher() throws GeneralSecurityException {
            String form = "AES/GCM/NoPadding";
            return provider == null ? Cipher.getInstance(form, "SunJCE") : Cipher.getInstance(form, provider);
        }

        Signature signature(String form) throws GeneralSecurityException {
            return provider == null ? Signature.getInstance(form) : Signature.getInstance(form, provider);
        }

        byte[] nonce() {
            return ByteBuffer.allocate(12).putLong(4, ++nonces).array();
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    // Seals a message with the same nonce everywhere, and requires the same bytes.
    private static void compare(List<Where> all, int size) throws Exception {
        byte[] plain = new byte[size];
        Arrays.fill(plain, (byte) 7);
        byte[] first = null;
        for (Where where : all) {
            GCMParameterSpec spec = new GCMParameterSpec(128, new byte[12]);
            Cipher cipher = where.cipher();
            cipher.init(Cipher.ENCRYPT_MODE, where.aes, spec);
            byte[] sealed = cipher.doFinal(plain);
            first = first == null ? sealed : first;
            check(Arrays.equals(sealed, first), where.name + " seals otherwise");
            cipher.init(Cipher.DECRYPT_MODE, where.aes, spec);
            check(Arrays.equals(cipher.doFinal(sealed), plain), where.name + " opens otherwise");
        }
    }

    private static Work seal(Where where, int size) throws Exception {
        Cipher cipher = where.cipher();
        byte[] plain = new byte[size];
        byte[] sealed = new byte[size + 16];
        return () -> {
            cipher.init(Cipher.ENCRYPT_MODE, where.aes, new GCMParameterSpec(128, where.nonce()));
            check(cipher.doFinal(plain, 0, size, sealed) == size + 16, "a message of another length");
        };
    }

    private static Work open(Where where, int size) throws Exception {
        Cipher cipher = where.cipher();
        byte[] plain = new byte[size];
        // SunPKCS11 wants room for the tag here, too.
        byte[] opened = new byte[size + 16];
        Arrays.fill(plain, (byte) 3);
        GCMParameterSpec spec = new GCMParameterSpec(128, where.nonce());
        cipher.init(Cipher.ENCRYPT_MODE, where.aes, spec);
        byte[] sealed = cipher.doFinal(plain);
        return () -> {
            cipher.init(Cipher.DECRYPT_MODE, where.aes, spec);
            check(cipher.doFinal(sealed, 0, sealed.length, opened) == size && opened[size - 1] == 3, "another message");
        };
    }

    private static Work sign(Where where, int which, PublicKey verifier) throws Exception {
        Signature signature = where.signature(SIGNATURES[which][2]);
        Signature here = Signature.getInstance(SIGNATURES[which][2]);
        int[] made = {0};
        return () -> {
            signature.initSign(where.signers[which]);
            signature.update(MESSAGE);
            byte[] bytes = signature.sign();
            // The first is verified, and then one of a thousand, which costs all alike.
            if (made[0]++ % 1000 == 0) {
                here.initVerify(verifier);
                here.update(MESSAGE);
                check(here.verify(bytes), where.name + ": a signature is wrong");
            }
        };
    }

    // Prints how often a second each place does something, a line for each turn of each place.
    private static void turns(String what, List<String> names, List<Work> works, int rounds, double seconds)
            throws Exception {
        for (Work work : works) {
            spend(work, Math.max(0.5, seconds));
        }
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < works.size(); i++) {
                System.out.println(what + "\t" + names.get(i) + "\t" + spend(works.get(i), seconds));
            }
        }
    }

    private static double spend(Work work, double seconds) throws Exception {
        long begin = System.nanoTime();
        long end = begin + (long) (seconds * 1e9);
        long done = 0;
        long now;
        do {
            work.run();
            done++;
            now = System.nanoTime();
        } while (now < end);
        return done * 1e9 / (now - begin);
    }

    public static void main(String[] words) throws Exception {
        char[] pin = words[0].toCharArray();
        Path folder = Path.of(words[1]);
        int rounds = Integer.parseInt(words[2]);
        double seconds = Double.parseDouble(words[3]);
        Arrays.fill(SECRET, (byte) 0x42);
        PrivateKey[] keys = new PrivateKey[SIGNATURES.length];
        Certificate[] certificates = new Certificate[SIGNATURES.length];
        for (int i = 0; i < keys.length; i++) {
            byte[] der = Files.readAllBytes(folder.resolve(SIGNATURES[i][0]).resolve("key.der"));
            keys[i] = KeyFactory.getInstance(SIGNATURES[i][1]).generatePrivate(new PKCS8EncodedKeySpec(der));
            try (FileInputStream in = new FileInputStream(
                    folder.resolve(SIGNATURES[i][0]).resolve("certificate.pem").toFile())) {
                certificates[i] = CertificateFactory.getInstance("X.509").generateCertificate(in);
            }
        }
        List<Where> all = new ArrayList<>();
        all.add(new Where("process", null, pin, keys, certificates));
        for (String name : new String[] {"millstream", "softhsm"}) {
            Provider provider = Security.getProvider("SunPKCS11").configure(folder.resolve(name + ".cfg").toString());
            all.add(new Where(name, provider, pin, keys, certificates));
        }
        List<String> names = new ArrayList<>();
        all.forEach(where -> names.add(where.name));
        for (int size : SIZES) {
            compare(all, size);
        }
        for (int size : SIZES) {
            List<Work> seals = new ArrayList<>();
            List<Work> opens = new ArrayList<>();
            for (Where where : all) {
                seals.add(seal(where, size));
                opens.add(open(where, size));
            }
            turns("aes-256-gcm of " + size + " bytes, sealing", names, seals, rounds, seconds);
            turns("aes-256-gcm of " + size + " bytes, opening", names, opens, rounds, seconds);
        }
        for (int i = 0; i < SIGNATURES.length; i++) {
            List<Work> works = new ArrayList<>();
            for (Where where : all) {
                works.add(sign(where, i, certificates[i].getPublicKey()));
            }
            turns(SIGNATURES[i][0] + ", " + SIGNATURES[i][2], names, works, rounds, seconds);
        }
    }
}
