package lease

import (
	"fmt"
	"strings"
)

// Kind says which part of an Item is in use.
type Kind uint8

// The kinds of items of a group.
const (
	KindLease   Kind = iota + 1 // a shard: who owns it and how far it has been handled
	KindWorker                  // a worker's heartbeat and state
	KindControl                 // one per group: layout version and what the group knows of its streams
)

// Key names an item inside its group. Keys are values; == compares them.
type Key struct {
	Kind   Kind
	Stream string // KindLease: the stream's name
	Shard  string // KindLease: the shard's id
	Worker string // KindWorker: the worker's id
}

// LeaseKey is the key of a shard's lease.
func LeaseKey(stream, shard string) Key { return Key{Kind: KindLease, Stream: stream, Shard: shard} }

// WorkerKey is the key of a worker's item.
func WorkerKey(id string) Key { return Key{Kind: KindWorker, Worker: id} }

// ControlKey is the key of the group's control item.
func ControlKey() Key { return Key{Kind: KindControl} }

const (
	leasePrefix  = "lease/"
	workerPrefix = "worker/"
	controlText  = "control"
)

// String is the key as text: "lease/<stream>/<shard>", "worker/<id>" or "control". Stores keep it so, but for package
// store/dynamo, which gives the control item a name that one Query finds beside the workers.
func (k Key) String() string {
	switch k.Kind {
	case KindLease:
		return leasePrefix + k.Stream + "/" + k.Shard
	case KindWorker:
		return workerPrefix + k.Worker
	case KindControl:
		return controlText
	}
	return ""
}

// Check returns why k cannot name an item, or nil: a part that its kind needs is empty, one that it
// does not need is set, or a stream or shard holds a slash. ParseKey gives back every key that passes.
func (k Key) Check() error {
	switch {
	case k.Kind == KindLease && k.Stream != "" && k.Shard != "" && k.Worker == "" &&
		strings.IndexByte(k.Stream, '/') < 0 && strings.IndexByte(k.Shard, '/') < 0:
		return nil
	case k.Kind == KindWorker && k.Worker != "" && k.Stream == "" && k.Shard == "":
		return nil
	case k == ControlKey():
		return nil
	}
	return fmt.Errorf("item key %q: not lease/<stream>/<shard>, worker/<id> or control", clip(k.String()))
}

// ParseKey is the inverse of Key.String. A key of a kind that this version does not know is an error.
func ParseKey(s string) (Key, error) {
	if s == controlText {
		return ControlKey(), nil
	}
	if id, ok := strings.CutPrefix(s, workerPrefix); ok && id != "" {
		return WorkerKey(id), nil
	}
	if rest, ok := strings.CutPrefix(s, leasePrefix); ok {
		// Neither stream names nor shard ids hold a slash (Kinesis API reference: [a-zA-Z0-9_.-]+).
		stream, shard, ok := strings.Cut(rest, "/")
		if ok && stream != "" && shard != "" && !strings.Contains(shard, "/") {
			return LeaseKey(stream, shard), nil
		}
	}
	return Key{}, fmt.Errorf("item key %q: not lease/<stream>/<shard>, worker/<id> or control", clip(s))
}
