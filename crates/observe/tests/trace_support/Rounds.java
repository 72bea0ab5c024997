// Encrypts and decrypts with AES-CBC, and checks each result.
import java.security.MessageDigest;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public class Rounds {
    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        byte[] plain = new byte[1 << 14];
        for (int i = 0; i < plain.length; i++) plain[i] = (byte) (i * 7);
        Cipher encrypt = Cipher.getInstance("AES/CBC/NoPadding");
        Cipher decrypt = Cipher.getInstance("AES/CBC/NoPadding");
        SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
        IvParameterSpec iv = new IvParameterSpec(new byte[16]);
        MessageDigest hash = MessageDigest.getInstance("SHA-256");
        byte[] first = hash.digest(plain);
        long rounds = 0, wrong = 0;
        while (System.nanoTime() < end) {
            encrypt.init(Cipher.ENCRYPT_MODE, key, iv);
            decrypt.init(Cipher.DECRYPT_MODE, key, iv);
            byte[] opened = decrypt.doFinal(encrypt.doFinal(plain));
            if (!Arrays.equals(opened, plain) || !Arrays.equals(hash.digest(opened), first)) wrong++;
            rounds++;
        }
        System.out.println("rounds " + rounds + " wrong " + wrong);
    }
}
