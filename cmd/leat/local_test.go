package main

import (
	"net"
	"testing"
)

func TestEndpointAt(t *testing.T) {
	for listens, want := range map[string]string{
		"127.0.0.1:4567": "http://127.0.0.1:4567",
		"[::1]:4567":     "http://[::1]:4567",
		"0.0.0.0:4567":   "http://127.0.0.1:4567",
		"[::]:4567":      "http://127.0.0.1:4567",
	} {
		address, err := net.ResolveTCPAddr("tcp", listens)
		if err != nil {
			t.Fatal(err)
		}
		if got := endpointAt(address); got != want {
			t.Errorf("%s: %s, want %s", listens, got, want)
		}
	}
}
