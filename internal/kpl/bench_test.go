//go:build unix

package kpl

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// aggregated is a record of about size bytes, of user records with n different keys; 0: each has its own.
func aggregated(b *testing.B, size, payload, n int) []byte {
	a := NewAggregator(size)
	for i := 0; ; i++ {
		key := fmt.Sprintf("device-%06d", i)
		if n > 0 {
			key = fmt.Sprintf("device-%06d", i%n)
		}
		full, err := a.Add(key, "", make([]byte, payload))
		if err != nil {
			b.Fatal(err)
		}
		if full {
			return a.Finish()
		}
	}
}

// cpu is the time that the process has spent: other work on the machine changes it less than the time on the clock.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDecode is from the data of an aggregated record to each user record. MB are those of the data.
func BenchmarkDecode(b *testing.B) {
	half, err := NewRange(lease.HashRange{Start: "0", End: "170141183460469231731687303715884105727"})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		size, payload int
		keys          int
		in            Range
	}{
		{"50KiB/128B", 50 << 10, 128, 0, Range{}},
		{"50KiB/1KiB", 50 << 10, 1024, 0, Range{}},
		{"1MiB/128B", 1 << 20, 128, 0, Range{}},
		{"1MiB/128B/oneKey", 1 << 20, 128, 1, Range{}},
		{"1MiB/1KiB", 1 << 20, 1024, 0, Range{}},
		{"1MiB/0B/oneKey", 1 << 20, 0, 1, Range{}},
		{"1MiB/128B/inRange", 1 << 20, 128, 0, half},
	} {
		data := aggregated(b, c.size, c.payload, c.keys)
		b.Run(c.name, func(b *testing.B) {
			users, inside := 0, 0
			var r record.Record
			b.ReportAllocs()
			began := cpu()
			for b.Loop() {
				a, err := Open(data, 0)
				if err != nil {
					b.Fatal(err)
				}
				for a.Next(&r) {
					users++
					if c.in.Holds(&r) {
						inside++
					}
				}
			}
			spent := (cpu() - began).Seconds()
			b.ReportMetric(float64(users)/spent, "users/cpu-s")
			b.ReportMetric(float64(b.N*len(data))/1e6/spent, "MB/cpu-s")
			b.ReportMetric(float64(users)/float64(b.N), "users/op")
		})
	}
}

// BenchmarkChecksum is what of it is the MD5.
func BenchmarkChecksum(b *testing.B) {
	data := make([]byte, 1<<20)
	began := cpu()
	for b.Loop() {
		checksum(data)
	}
	b.ReportMetric(float64(b.N*len(data))/1e6/(cpu()-began).Seconds(), "MB/cpu-s")
}

func BenchmarkAggregator(b *testing.B) {
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("device-%06d", i)
	}
	payload := make([]byte, 128)
	a := NewAggregator(0)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if full, err := a.Add(keys[i%len(keys)], "", payload); err != nil {
			b.Fatal(err)
		} else if full {
			a.Finish()
		}
	}
}
