package lease

import (
	"strings"
	"testing"
)

// FuzzKey: a text is a key's in exactly one way, and a key that passes Check comes back from its text.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"control", "worker/anna", "worker/a/b", "worker/", "lease/orders/shardId-000000000000", "lease/a/b/c", "lease//b",
		"lease/a/", "lease/a", "control/", "Worker/a", "", "/"} {
		f.Add(s, s, uint8(len(s)))
	}
	f.Fuzz(func(t *testing.T, s, other string, kind uint8) {
		if key, err := ParseKey(s); err == nil {
			if key.String() != s {
				t.Errorf("%q parses as %+v, whose text is %q", s, key, key)
			}
			if err := key.Check(); err != nil {
				t.Errorf("%q parses as %+v, which does not pass: %v", s, key, err)
			}
		}
		key := Key{Kind: Kind(kind % 5)}
		switch kind / 5 % 4 {
		case 0:
			key.Stream, key.Shard = s, other
		case 1:
			key.Worker = s
		case 2:
			key.Stream, key.Worker = s, other
		}
		back, err := ParseKey(key.String())
		if passes := key.Check() == nil; passes != (err == nil && back == key) {
			t.Errorf("%+v passes: %t; its text %q parses as %+v (%v)", key, passes, key, back, err)
		}
	})
}

func TestKeyErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	for _, s := range []string{"", "lease", "lease/", "lease/orders", "lease/orders/", "lease//s", "lease/a/b/c", "worker", "worker/", "Control", "hold/x", long} {
		key, err := ParseKey(s)
		if err == nil {
			t.Errorf("%q passes as %+v", s, key)
		} else if len(err.Error()) > 200 {
			t.Errorf("the error of a long key has %d bytes", len(err.Error()))
		}
	}
	if err := (Write{Op: Create, Item: Item{Key: WorkerKey("")}}).Check(); err == nil || !strings.Contains(err.Error(), "create") {
		t.Errorf("a write to a worker without an id: %v", err)
	}
}
