// A client of TLS 1.3 that offers X25519MLKEM768 alone: `tlsclient SOCKET`. It sends its input, and prints the group that was agreed on.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(socket string) error {
	raw, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	// The certificate is the test's own.
	conn := tls.Client(raw, &tls.Config{
		InsecureSkipVerify: true,
		MinVersion:         tls.VersionTLS13,
		CurvePreferences:   []tls.CurveID{tls.X25519MLKEM768},
	})
	if err := conn.Handshake(); err != nil {
		return err
	}
	if _, err := io.Copy(conn, os.Stdin); err != nil {
		return err
	}
	fmt.Println("X25519MLKEM768")
	return conn.Close()
}
