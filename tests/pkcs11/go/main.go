// Command pkcs11 uses a token's keys by crypto11, the library of Go's programs for PKCS #11, and compares with Go's own cryptography.
package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"sync"
	"time"

	"github.com/ThalesIgnite/crypto11"
)

func good(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must(holds bool, what string) {
	if !holds {
		log.Fatal(what)
	}
}

// serve is a server for one connection, and its client, with a certificate whose key is in the token.
func serve(signer crypto.Signer) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	good(err)
	parsed, err := x509.ParseCertificate(der)
	good(err)
	good(parsed.CheckSignatureFrom(parsed))
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: signer}}}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	good(err)
	defer listener.Close()
	done := make(chan error)
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			connection.SetDeadline(time.Now().Add(30 * time.Second))
			_, err = io.Copy(connection, io.LimitReader(connection, 5))
			connection.Close()
		}
		done <- err
	}()
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	client, err := tls.DialWithDialer(dialer, "tcp", listener.Addr().String(), &tls.Config{RootCAs: pool, ServerName: "localhost"})
	good(err)
	_, err = client.Write([]byte("hello"))
	good(err)
	got := make([]byte, 5)
	_, err = io.ReadFull(client, got)
	good(err)
	must(string(got) == "hello", "the server echoes")
	good(<-done)
	client.Close()
}

func main() {
	context, err := crypto11.Configure(&crypto11.Config{Path: os.Args[1], TokenLabel: "web", Pin: os.Args[2], MaxSessions: 16})
	good(err)
	text := bytes.Repeat([]byte("keys that stay"), 30)
	digest := sha256.Sum256(text)

	key, err := context.GenerateRSAKeyPairWithLabel([]byte{1, 1}, []byte("go-rsa"), 2048)
	good(err)
	public := key.Public().(*rsa.PublicKey)
	signature, err := key.Sign(rand.Reader, digest[:], crypto.SHA256)
	good(err)
	good(rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], signature))
	options := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
	signature, err = key.Sign(rand.Reader, digest[:], options)
	good(err)
	good(rsa.VerifyPSS(public, crypto.SHA256, digest[:], signature, options))
	sealed, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, public, []byte("short"), nil)
	good(err)
	opened, err := key.Decrypt(rand.Reader, sealed, &rsa.OAEPOptions{Hash: crypto.SHA256})
	good(err)
	must(string(opened) == "short", "OAEP")
	sealed, err = rsa.EncryptPKCS1v15(rand.Reader, public, []byte("short"))
	good(err)
	opened, err = key.Decrypt(rand.Reader, sealed, nil)
	good(err)
	must(string(opened) == "short", "PKCS #1 v1.5")
	serve(key)
	fmt.Println("rsa")

	var signer crypto11.Signer
	for at, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		signer, err = context.GenerateECDSAKeyPairWithLabel([]byte{2, byte(at)}, []byte("go-ec"), curve)
		good(err)
		signature, err = signer.Sign(rand.Reader, digest[:], crypto.SHA256)
		good(err)
		must(ecdsa.VerifyASN1(signer.Public().(*ecdsa.PublicKey), digest[:], signature), "ECDSA")
		serve(signer)
	}
	fmt.Println("ec")

	// Sixteen goroutines share the pool of sessions.
	var group sync.WaitGroup
	for at := 0; at < 16; at++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 20; i++ {
				signature, err := signer.Sign(rand.Reader, digest[:], crypto.SHA256)
				good(err)
				must(ecdsa.VerifyASN1(signer.Public().(*ecdsa.PublicKey), digest[:], signature), "ECDSA in threads")
			}
		}()
	}
	group.Wait()
	fmt.Println("threads")

	secret, err := context.GenerateSecretKeyWithLabel([]byte{3}, []byte("go-aes"), 256, crypto11.CipherAES)
	good(err)
	gcm, err := secret.NewGCM()
	good(err)
	nonce := make([]byte, 12)
	sealed = gcm.Seal(nil, nonce, text, []byte("header"))
	opened, err = gcm.Open(nil, nonce, sealed, []byte("header"))
	good(err)
	must(bytes.Equal(opened, text), "GCM")
	sealed[3] ^= 1
	_, err = gcm.Open(nil, nonce, sealed, []byte("header"))
	must(err != nil, "a forged text is refused")
	cbc, err := secret.NewCBCEncrypterCloser(nonce16())
	good(err)
	out := make([]byte, 64)
	cbc.CryptBlocks(out, text[:64])
	cbc.Close()
	back, err := secret.NewCBCDecrypterCloser(nonce16())
	good(err)
	back.CryptBlocks(out, out)
	back.Close()
	must(bytes.Equal(out, text[:64]), "CBC")
	fmt.Println("aes")

	coder, err := context.GenerateSecretKeyWithLabel([]byte{4}, []byte("go-hmac"), 256, crypto11.CipherGeneric)
	good(err)
	mac, err := coder.NewHMAC(0x251, 0) // CKM_SHA256_HMAC
	good(err)
	mac.Write(text)
	first := mac.Sum(nil)
	mac.Reset()
	mac.Write(text)
	must(len(first) == 32 && bytes.Equal(first, mac.Sum(nil)), "HMAC")

	random, err := context.NewRandomReader()
	good(err)
	_, err = io.ReadFull(random, make([]byte, 10000))
	good(err)
	found, err := context.FindKeyPair([]byte{1, 1}, nil)
	good(err)
	must(found != nil, "a pair is found by its identifier")
	good(found.Delete())
	found, err = context.FindKeyPair([]byte{1, 1}, nil)
	good(err)
	must(found == nil, "it is removed")
	all, err := context.FindAllKeyPairs()
	good(err)
	fmt.Println("pairs", len(all))
	good(context.Close())
}

func nonce16() []byte { return make([]byte, 16) }
