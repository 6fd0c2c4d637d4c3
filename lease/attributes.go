package lease

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Attributes is an item as stores keep it, by the names and types of the Java KCL's lease table where
// it has them. A value is a string (DynamoDB S), a Number (N), a bool (BOOL) or a []string (SS, sorted).
// No value is empty: an absent name stands for it.
type Attributes map[string]any

// Number is a DynamoDB number as text.
type Number string

// The names of attributes. Those of leases down to endingHashKey are the Java KCL's (KCL source,
// DynamoDBLeaseSerializer); the rest are leat's own and ignored by a KCL.
const (
	attrCounter       = "leaseCounter"
	attrOwner         = "leaseOwner"
	attrCheckpoint    = "checkpoint"
	attrSub           = "checkpointSubSequenceNumber"
	attrOwnerSwitches = "ownerSwitchesSinceCheckpoint"
	attrParents       = "parentShardId"
	attrChildren      = "childShardIds"
	attrHashStart     = "startingHashKey"
	attrHashEnd       = "endingHashKey"
	attrPinned        = "pinnedTimestamp" // Unix milliseconds of an AT_TIMESTAMP checkpoint
	attrRoot          = "root"

	attrHoldVersion = "holdVersion"
	attrHoldID      = "holdId"
	attrHoldReason  = "holdReason"
	attrHoldMillis  = "holdMillis"

	attrHeartbeat = "heartbeat"
	attrState     = "state"
	attrStreams   = "streams"
	attrMaxShards = "maxShards"
	attrFailover  = "failoverMillis"
	attrWants     = "wants"

	attrChanges = "changes"
	attrVersion = "version"
)

// AttributeNames returns the names that a Create, Update or SetHold writes in an item of this kind. A
// store sets those that Item.Attributes holds, removes the others and leaves names outside the list alone.
func AttributeNames(op Op, kind Kind) []string {
	switch kind {
	case KindLease:
		if op == SetHold {
			return []string{attrHoldVersion, attrHoldID, attrHoldReason, attrHoldMillis}
		}
		return []string{attrCounter, attrOwner, attrCheckpoint, attrSub, attrOwnerSwitches, attrParents,
			attrChildren, attrHashStart, attrHashEnd, attrPinned, attrRoot}
	case KindWorker:
		return []string{attrHeartbeat, attrState, attrStreams, attrMaxShards, attrFailover, attrWants}
	case KindControl:
		return []string{attrChanges, attrVersion, attrStreams}
	}
	return nil
}

// CounterName is the name of the attribute that holds Item.Counter.
func CounterName(kind Kind) string {
	switch kind {
	case KindWorker:
		return attrHeartbeat
	case KindControl:
		return attrChanges
	}
	return attrCounter
}

// OwnerName is the name of the attribute that holds a lease's owner.
func OwnerName() string { return attrOwner }

// Attributes returns the item as a store keeps it, without its key. The map is the caller's.
func (it Item) Attributes() Attributes {
	a := Attributes{CounterName(it.Key.Kind): number(it.Counter)}
	switch it.Key.Kind {
	case KindLease:
		l := it.Lease
		_, sub, _ := l.Checkpoint.Sequence()
		a[attrCheckpoint] = l.Checkpoint.checkpointText()
		a[attrSub] = number(sub)
		a[attrOwnerSwitches] = number(l.OwnerSwitches)
		a.setString(attrOwner, l.Owner)
		a.setStrings(attrParents, l.Parents)
		a.setStrings(attrChildren, l.Children)
		a.setString(attrHashStart, l.HashRange.Start)
		a.setString(attrHashEnd, l.HashRange.End)
		if at, ok := l.Checkpoint.Timestamp(); ok {
			a[attrPinned] = number(at.UnixMilli())
		}
		if l.Root {
			a[attrRoot] = true
		}
		a.setNumber(attrHoldVersion, l.Hold.Version)
		a.setString(attrHoldID, l.Hold.ID)
		a.setString(attrHoldReason, l.Hold.Reason)
		a.setNumber(attrHoldMillis, l.Hold.For.Milliseconds())
	case KindWorker:
		a[attrState] = it.Worker.State.String()
		a.setStrings(attrStreams, it.Worker.Streams)
		a.setStrings(attrWants, it.Worker.Wants)
		a.setNumber(attrMaxShards, int64(it.Worker.MaxShards))
		a.setNumber(attrFailover, it.Worker.Failover.Milliseconds())
	case KindControl:
		a[attrVersion] = number(int64(it.Control.Version))
		records := make([]string, len(it.Control.Streams))
		for i, s := range it.Control.Streams {
			records[i] = s.text()
		}
		slices.Sort(records)
		a.setStrings(attrStreams, records)
	}
	return a
}

// DecodeItem is the inverse of Item.Attributes. Names that it does not know are ignored; a missing
// or wrong one is an error that names it. Items may have been written by anybody: every value is
// checked.
func DecodeItem(key Key, a Attributes) (Item, error) {
	d := decoder{attributes: a}
	it := Item{Key: key, Counter: d.number(CounterName(key.Kind), true)}
	switch key.Kind {
	case KindLease:
		it.Lease = Lease{
			Owner:         d.text(attrOwner, false),
			OwnerSwitches: d.number(attrOwnerSwitches, false),
			Parents:       d.texts(attrParents),
			Children:      d.texts(attrChildren),
			HashRange:     HashRange{Start: d.text(attrHashStart, false), End: d.text(attrHashEnd, false)},
			Root:          d.flag(attrRoot),
			Hold:          Hold{Version: d.number(attrHoldVersion, false), ID: d.text(attrHoldID, false), Reason: d.text(attrHoldReason, false)},
		}
		// The bound keeps the product from overflowing; whatever is above it is too long.
		millis := min(d.number(attrHoldMillis, false), MaxHold.Milliseconds()+1)
		it.Lease.Hold.For = time.Duration(millis) * time.Millisecond
		d.fail(attrHoldID, it.Lease.Hold.check())
		checkpoint, err := parseCheckpoint(d.text(attrCheckpoint, true), d.number(attrSub, false), d.number(attrPinned, false))
		d.fail(attrCheckpoint, err)
		it.Lease.Checkpoint = checkpoint
		if !it.Lease.HashRange.IsZero() {
			_, _, err := it.Lease.HashRange.Bounds()
			d.fail(attrHashStart+" to "+attrHashEnd, err)
		}
	case KindWorker:
		it.Worker = Worker{Streams: d.texts(attrStreams), Wants: d.texts(attrWants), MaxShards: int(d.number(attrMaxShards, false))}
		// The bound is for what somebody else has written: a worker that could never be fenced would keep its leases for ever.
		it.Worker.Failover = time.Duration(min(d.number(attrFailover, false), MaxFailover.Milliseconds())) * time.Millisecond
		switch state := d.text(attrState, true); state {
		case Alive.String():
			it.Worker.State = Alive
		case Leaving.String():
			it.Worker.State = Leaving
		case Fenced.String():
			it.Worker.State = Fenced
		case Left.String():
			it.Worker.State = Left
		default:
			d.fail(attrState, fmt.Errorf("%q is not alive, leaving, fenced or left", clip(state)))
		}
	case KindControl:
		it.Control.Version = int(d.number(attrVersion, true))
		if v := it.Control.Version; v != ControlVersion {
			d.fail(attrVersion, fmt.Errorf("layout %d, this leat knows %d: run one version of leat for the whole group", v, ControlVersion))
		}
		for _, text := range d.texts(attrStreams) {
			record, err := parseStreamRecord(text)
			d.fail(attrStreams, err)
			if _, twice := it.Control.Stream(record.Name); twice {
				d.fail(attrStreams, fmt.Errorf("stream %q stands there twice", clip(record.Name)))
			}
			it.Control.Streams = append(it.Control.Streams, record)
		}
	default:
		return Item{}, fmt.Errorf("item of unknown kind %d", key.Kind)
	}
	if d.err != nil {
		return Item{}, d.err
	}
	return it, nil
}

// text is a stream record as one string of a set:
// "<name> <created, Unix ms> <start> <ready or pending> <arn>"; start is TRIM_HORIZON or Unix ms.
// The name comes first so that the sorted set is sorted by name.
func (s StreamRecord) text() string {
	start, state := textTrimHorizon, "pending"
	if at, ok := s.Start.Timestamp(); ok {
		start = strconv.FormatInt(at.UnixMilli(), 10)
	}
	if s.Ready {
		state = "ready"
	}
	return fmt.Sprintf("%s %d %s %s %s", s.Name, s.Created.UnixMilli(), start, state, s.ARN)
}

func parseStreamRecord(text string) (StreamRecord, error) {
	parts := strings.SplitN(text, " ", 5)
	if len(parts) != 5 || parts[0] == "" || (parts[3] != "ready" && parts[3] != "pending") {
		return StreamRecord{}, fmt.Errorf("%q is not \"name created start state arn\"", clip(text))
	}
	created, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return StreamRecord{}, fmt.Errorf("creation time %q is not a number", clip(parts[1]))
	}
	s := StreamRecord{Name: parts[0], Created: time.UnixMilli(created).UTC(), Ready: parts[3] == "ready", ARN: parts[4]}
	if parts[2] != textTrimHorizon {
		at, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil {
			return StreamRecord{}, fmt.Errorf("start %q is neither TRIM_HORIZON nor a time", clip(parts[2]))
		}
		s.Start = AtTimestamp(time.UnixMilli(at))
	}
	return s, nil
}

func number(n int64) Number { return Number(strconv.FormatInt(n, 10)) }

func (a Attributes) setString(name, value string) {
	if value != "" {
		a[name] = value
	}
}

func (a Attributes) setNumber(name string, n int64) {
	if n != 0 {
		a[name] = number(n)
	}
}

func (a Attributes) setStrings(name string, values []string) {
	if len(values) > 0 {
		a[name] = values
	}
}

// decoder reads attributes and keeps the first error.
type decoder struct {
	attributes Attributes
	err        error
}

func (d *decoder) fail(name string, err error) {
	if d.err == nil && err != nil {
		d.err = fmt.Errorf("attribute %s: %w", name, err)
	}
}

// get returns the attribute if it is there and of type T.
func get[T any](d *decoder, name string, required bool) (value T, ok bool) {
	v, found := d.attributes[name]
	if !found {
		if required {
			d.fail(name, fmt.Errorf("missing"))
		}
		return value, false
	}
	value, ok = v.(T)
	if !ok {
		d.fail(name, fmt.Errorf("is a %T, want a %T", v, value))
	}
	return value, ok
}

func (d *decoder) text(name string, required bool) string {
	s, _ := get[string](d, name, required)
	return s
}

func (d *decoder) texts(name string) []string {
	s, _ := get[[]string](d, name, false)
	return slices.Sorted(slices.Values(s))
}

func (d *decoder) flag(name string) bool {
	b, _ := get[bool](d, name, false)
	return b
}

// number reads a whole number from 0 up; no attribute of ours is negative.
func (d *decoder) number(name string, required bool) int64 {
	text, ok := get[Number](d, name, required)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 {
		d.fail(name, fmt.Errorf("%q is not a whole number from 0 up", clip(string(text))))
	}
	return n
}
