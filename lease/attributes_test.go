package lease_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/lease/leasetest"
	"pgregory.net/rapid"
)

var itemKeys = []lease.Key{lease.LeaseKey("orders", "shardId-000000000000"), lease.WorkerKey("anna"), lease.ControlKey()}

func TestAttributesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(itemKeys).Draw(t, "key")
		item := leasetest.RandomItem(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), key)
		item.Counter = rapid.Int64Range(0, 1<<62).Draw(t, "counter")
		attributes := item.Attributes()
		back, err := lease.DecodeItem(key, attributes)
		if err != nil || !back.Equal(item) || !item.Equal(back) {
			t.Fatalf("%+v\ncomes back from %v\nas %+v (%v)", item, attributes, back, err)
		}
		for name, value := range attributes {
			if !slices.Contains(names(key.Kind), name) {
				t.Fatalf("attribute %s is not in AttributeNames: a store would not remove it", name)
			}
			switch v := value.(type) { // DynamoDB knows no empty set, and an empty owner is not a free lease
			case string:
				if v == "" {
					t.Fatalf("attribute %s is empty", name)
				}
			case []string:
				if len(v) == 0 || !slices.IsSorted(v) {
					t.Fatalf("attribute %s is %q, want a sorted set", name, v)
				}
			}
		}
	})
}

// Every name in AttributeNames is one that some item has.
func TestAttributeNamesAreUsed(t *testing.T) {
	t.Parallel()
	for _, key := range itemKeys {
		seen := map[string]bool{}
		for seed := range 200 {
			for name := range leasetest.RandomItem(rand.New(rand.NewPCG(uint64(seed), 0)), key).Attributes() {
				seen[name] = true
			}
		}
		want := slices.Sorted(slices.Values(names(key.Kind)))
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
			t.Errorf("items like %s have %q, AttributeNames says %q", key, got, want)
		}
		if !seen[lease.CounterName(key.Kind)] {
			t.Errorf("%s has no %s", key, lease.CounterName(key.Kind))
		}
	}
	if got := names(0); got != nil {
		t.Errorf("items of no kind have %q", got)
	}
}

// names are the attributes that an item of this kind can have. The hold has its own, which no Update touches.
func names(kind lease.Kind) []string {
	return slices.Concat(lease.AttributeNames(lease.Update, kind), holdNames(kind))
}

func holdNames(kind lease.Kind) []string {
	if kind != lease.KindLease {
		return nil
	}
	return lease.AttributeNames(lease.SetHold, kind)
}

// FuzzDecodeItem decodes what anybody may have written into a table.
func FuzzDecodeItem(f *testing.F) {
	for i, key := range itemKeys {
		text, err := json.Marshal(leasetest.RandomItem(rand.New(rand.NewPCG(uint64(i), 0)), key).Attributes())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		key := itemKeys[int(which)%len(itemKeys)]
		item, err := lease.DecodeItem(key, parseAttributes(text))
		if err != nil {
			name, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "attribute "), ":")
			name, _, _ = strings.Cut(name, " to ")
			if !slices.Contains(names(key.Kind), name) {
				t.Errorf("the error %q names no attribute", err)
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		if item.Key != key || item.Counter < 0 {
			t.Fatalf("decoded %+v", item)
		}
		again, err := lease.DecodeItem(key, item.Attributes())
		if err != nil || !again.Equal(item) {
			t.Fatalf("%+v\nis written as %v\nand comes back as %+v (%v)", item, item.Attributes(), again, err)
		}
	})
}

// parseAttributes reads attributes from JSON: a string, a number, true or false, a list of strings.
// Anything else is of a type that no leat has written.
func parseAttributes(text []byte) lease.Attributes {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var values map[string]any
	if d.Decode(&values) != nil {
		return nil
	}
	attributes := lease.Attributes{}
	for name, value := range values {
		switch v := value.(type) {
		case json.Number:
			value = lease.Number(v)
		case []any:
			texts := []string{}
			for _, element := range v {
				if text, ok := element.(string); ok {
					texts = append(texts, text)
				}
			}
			value = texts
		}
		attributes[name] = value
	}
	return attributes
}

func TestDecodeItemErrors(t *testing.T) {
	t.Parallel()
	good := map[lease.Kind]string{
		lease.KindLease:   `"leaseCounter":3,"checkpoint":"TRIM_HORIZON"`,
		lease.KindWorker:  `"heartbeat":3,"state":"alive"`,
		lease.KindControl: `"changes":3,"version":1`,
	}
	cases := []struct {
		key  int
		text string // added to the good one, whose values it replaces
		want string // parts of the error; "" is none
	}{
		{0, `"leaseCounter":-1`, "leaseCounter: \"-1\""},
		{0, `"leaseCounter":1.5`, "leaseCounter"},
		{0, `"leaseCounter":9223372036854775808`, "leaseCounter"},
		{0, `"leaseCounter":"3"`, "leaseCounter: is a string"},
		{0, `"checkpoint":""`, "checkpoint"},
		{0, `"checkpoint":"trim_horizon"`, "checkpoint"},
		{0, `"checkpoint":17`, "checkpoint: is a lease.Number"},
		{0, `"leaseOwner":["a"]`, "leaseOwner"},
		{0, `"parentShardId":"shardId-1"`, "parentShardId"},
		{0, `"startingHashKey":"1"`, "endingHashKey"},
		{0, `"startingHashKey":"2","endingHashKey":"1"`, "startingHashKey"},
		{0, `"startingHashKey":"0","endingHashKey":"340282366920938463463374607431768211456"`, "endingHashKey"},
		{0, `"root":"yes"`, "root"},
		{0, `"holdVersion":3`, ""},
		{0, `"holdVersion":3,"holdId":"t1","holdReason":"anna: replay","holdMillis":60000`, ""},
		{0, `"holdVersion":-1`, "holdVersion"},
		{0, `"holdVersion":3,"holdId":17,"holdMillis":60000`, "holdId: is a lease.Number"},
		{0, `"holdVersion":3,"holdId":"t1"`, "holdId: hold \"t1\": 0s is not a time"},
		{0, `"holdVersion":3,"holdId":"t1","holdMillis":86400000`, ""},
		{0, `"holdVersion":3,"holdId":"t1","holdMillis":86400001`, "holdId: hold \"t1\": 24h"},
		{0, `"holdVersion":3,"holdId":"t1","holdMillis":9223372036854775807`, "holdId: hold \"t1\": 24h"},
		{0, `"holdVersion":3,"holdReason":"anna: replay"`, "holdId: hold without an id"},
		{0, `"holdVersion":3,"holdId":"t1","holdMillis":1,"holdReason":"` + strings.Repeat("x", 257) + `"`, "its reason longer than 256"},
		{0, `"pendingCheckpoint":17,"throughputKBps":1.5,"checkpointOwner":{"M":1}`, ""},
		{1, `"state":"asleep"`, "state"},
		{1, `"state":true`, "state"},
		{1, `"maxShards":-1`, "maxShards"},
		{1, `"streams":["b","a"]`, ""},
		{2, `"version":2`, "version: layout 2, this leat knows 1"},
		{2, `"version":0`, "version"},
		{2, `"streams":["orders"]`, "streams"},
		{2, `"streams":["orders x TRIM_HORIZON ready arn"]`, "creation time"},
		{2, `"streams":["orders 1 LATEST ready arn"]`, "start"},
		{2, `"streams":["orders 1 TRIM_HORIZON done arn"]`, "streams"},
		{2, `"streams":["orders 1 TRIM_HORIZON ready a","orders 2 TRIM_HORIZON ready b"]`, "streams"},
		{2, `"streams":["orders 1 TRIM_HORIZON ready a b"]`, ""},
	}
	for _, c := range cases {
		key := itemKeys[c.key]
		_, err := lease.DecodeItem(key, parseAttributes([]byte("{"+good[key.Kind]+","+c.text+"}")))
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v, want an error with %q", key, c.text, err, c.want)
		}
	}
	for _, key := range itemKeys { // each required attribute is missed by its name
		full := parseAttributes([]byte("{" + good[key.Kind] + "}"))
		for name := range full {
			less := maps.Clone(full)
			delete(less, name)
			if _, err := lease.DecodeItem(key, less); err == nil || !strings.Contains(err.Error(), name+": missing") {
				t.Errorf("%s without %s: %v", key, name, err)
			}
		}
	}
	if _, err := lease.DecodeItem(lease.Key{}, nil); err == nil {
		t.Error("an item of no kind passes")
	}
}
