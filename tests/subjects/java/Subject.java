// The JDK's own cryptography: the contract is in ../rust/src/lib.rs.

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.concurrent.Callable;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public final class Subject {
    private static final int LENGTH = 256 << 10;
    private static final int PIECE = 2 << 10;

    private static byte[] input() {
        int state = 1;
        byte[] out = new byte[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            state = state * 1664525 + 1013904223;
            out[i] = (byte) (state >>> 24);
        }
        return out;
    }

    private static byte[] filled(int length, int with) {
        byte[] out = new byte[length];
        Arrays.fill(out, (byte) with);
        return out;
    }

    private static byte[] repeat(double seconds, Callable<byte[]> once) throws Exception {
        long begin = System.nanoTime();
        byte[] first = once.call();
        long best = Long.MAX_VALUE;
        while (System.nanoTime() - begin < seconds * 1e9) {
            long start = System.nanoTime();
            byte[] again = once.call();
            best = Math.min(best, System.nanoTime() - start);
            if (!Arrays.equals(first, again)) {
                throw new AssertionError("a repetition has another result");
            }
        }
        System.err.printf("%.1f MB/s%n", LENGTH / (best / 1e9) / 1e6);
        return first;
    }

    public static void main(String[] arguments) throws Exception {
        double seconds = Double.parseDouble(arguments[1]);
        byte[] in = input();
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        HexFormat hex = HexFormat.of();
        switch (arguments[0]) {
            case "aes-gcm" -> {
                SecretKeySpec key = new SecretKeySpec(filled(16, 7), "AES");
                byte[] nonce = filled(12, 9);
                byte[] sealed = repeat(seconds, () -> seal(key, nonce, in));
                System.out.println(hex.formatHex(sealed, LENGTH, LENGTH + 16));
                System.out.println(hex.formatHex(sha256.digest(Arrays.copyOf(sealed, LENGTH))));
            }
            case "sha256" -> System.out.println(hex.formatHex(repeat(seconds, () -> sha256.digest(in))));
            default -> throw new IllegalArgumentException("aes-gcm or sha256");
        }
    }

    private static byte[] seal(SecretKeySpec key, byte[] nonce, byte[] in) throws GeneralSecurityException {
        // A cipher takes a nonce once.
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(128, nonce));
        // In pieces: what is called seldom is compiled late, and AES is in hardware only in what is compiled.
        byte[] out = new byte[LENGTH + 16];
        int at = 0;
        for (int done = 0; done < LENGTH; done += PIECE) {
            at += cipher.update(in, done, PIECE, out, at);
        }
        cipher.doFinal(out, at);
        return out;
    }
}
