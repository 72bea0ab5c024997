// Encrypts and decrypts with AES-GCM, and checks each result.
package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	block, _ := aes.NewCipher(make([]byte, 16))
	gcm, _ := cipher.NewGCM(block)
	plain, nonce := make([]byte, 65536), make([]byte, 12)
	for i := range plain {
		plain[i] = byte(i * 7)
	}
	first := sha256.Sum256(plain)
	rounds, wrong := 0, 0
	for time.Now().Before(end) {
		sealed := gcm.Seal(nil, nonce, plain, nil)
		opened, err := gcm.Open(nil, nonce, sealed, nil)
		if err != nil || !bytes.Equal(opened, plain) || sha256.Sum256(opened) != first {
			wrong++
		}
		rounds++
	}
	fmt.Println("rounds", rounds, "wrong", wrong)
}
