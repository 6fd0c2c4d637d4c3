package kpl

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/leatstream/leat/internal/record"
)

// TestAggregatorWritesWhatProtobufWrites: byte for byte, over random user records; and it fills a record to the
// limit, never beyond.
func TestAggregatorWritesWhatProtobufWrites(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		limit := 100 + random.IntN(5000)
		a := NewAggregator(limit)
		var users userRecords
		finish := func() {
			size := a.Size()
			partitionKey, explicitHashKey := a.Keys()
			want, err := HashKeyOf(users[0].PartitionKey, users[0].ExplicitHashKey)
			if err != nil || partitionKey != "a" || explicitHashKey != want.String() {
				t.Errorf("seed %d: keys %q, %q, first user record's %v", seed, partitionKey, explicitHashKey, want)
			}
			if a.Len() != len(users) {
				t.Errorf("seed %d: %d user records, want %d", seed, a.Len(), len(users))
			}
			data := a.Finish()
			if len(data)+len(partitionKey) != size || size > limit {
				t.Errorf("seed %d: %d bytes of data, size %d, limit %d", seed, len(data), size, limit)
			}
			if !bytes.Equal(data, wrap(slowEncode(users))) {
				t.Errorf("seed %d: got\n%q, want\n%q", seed, data, wrap(slowEncode(users)))
			}
			got := open(t, data)
			if got := all(&got); !reflect.DeepEqual(got, users) {
				t.Errorf("seed %d: got\n%v, want\n%v", seed, got, users)
			}
		}
		finished := 0
		for range 300 {
			u := record.Record{PartitionKey: fmt.Sprint("k", random.IntN(200)), Data: make([]byte, random.IntN(40)), Aggregated: true}
			if random.IntN(5) == 0 {
				u.Data = make([]byte, random.IntN(200))
			}
			if random.IntN(3) == 0 {
				u.ExplicitHashKey = fmt.Sprint(random.Uint64N(200))
			}
			full, err := a.Add(u.PartitionKey, u.ExplicitHashKey, u.Data)
			if full {
				if one := wrap(slowEncode(append(users, u))); len(one)+1 <= limit {
					t.Errorf("seed %d: full, but %d bytes fit into %d", seed, len(one)+1, limit)
				}
				finish()
				finished++
				users = nil
				full, err = a.Add(u.PartitionKey, u.ExplicitHashKey, u.Data)
			}
			if errors.Is(err, ErrTooLarge) {
				if one := wrap(slowEncode(userRecords{u})); len(one)+1 <= limit {
					t.Errorf("seed %d: too large, but %d bytes fit into %d", seed, len(one)+1, limit)
				}
				continue
			}
			if full || err != nil {
				t.Fatalf("seed %d: %v, %v", seed, full, err)
			}
			u.SubSequenceNumber = int64(len(users))
			users = append(users, u)
		}
		if len(users) > 0 {
			finish()
		}
		if finished == 0 && limit < 3000 {
			t.Errorf("seed %d: it was never full", seed)
		}
		if data := a.Finish(); data != nil || a.Len() != 0 {
			t.Errorf("seed %d: %q after the end", seed, data)
		}
	}
}

func TestAggregatorRefuses(t *testing.T) {
	long := strings.Repeat("\U0001F600", 256) // 256 characters, 1,024 bytes
	for _, c := range []struct {
		partitionKey, explicit string
		data                   int
		want                   string
	}{
		{"", "", 1, "a partition key has 1 to 256 characters, this one has 0"},
		{long, "", 1, ""},
		{long + "x", "", 1, "a partition key has 1 to 256 characters, this one has 257"},
		{"k", "340282366920938463463374607431768211456", 1, "the explicit hash key is not a decimal number from 0 to 2^128-1"},
		{"k", strings.Repeat("0", maxKey+1), 1, "an explicit hash key has up to 1024 bytes, this one has 1025"},
		{"k", "", 1<<20 - 34, ""},
		{"k", "", 1<<20 - 33, ErrTooLarge.Error()},
	} {
		a := NewAggregator(0)
		full, err := a.Add(c.partitionKey, c.explicit, make([]byte, c.data))
		if full || (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%.20q %.20q %d: %v, %v, want %q", c.partitionKey, c.explicit, c.data, full, err, c.want)
		}
		if err != nil {
			if k, h := a.Keys(); a.Len() != 0 || k != "" || h != "" || a.Finish() != nil {
				t.Errorf("%.20q: something was added", c.partitionKey)
			}
			continue
		}
		if a.Size() > MaxSize {
			t.Errorf("%d bytes", a.Size())
		}
		if _, err := Open(a.Finish(), 0); err != nil {
			t.Error(err)
		}
	}
}

func TestAggregatorCountsUserRecords(t *testing.T) {
	a := NewAggregator(10 << 20)
	for i := range MaxUserRecords {
		if full, err := a.Add("k", "", nil); full || err != nil {
			t.Fatal(i, full, err)
		}
	}
	if full, err := a.Add("k", "", nil); !full || err != nil {
		t.Errorf("one more: %v, %v", full, err)
	}
	if got := open(t, a.Finish()); got.Len() != MaxUserRecords {
		t.Errorf("%d user records", got.Len())
	}
}
