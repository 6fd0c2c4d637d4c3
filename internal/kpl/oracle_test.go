package kpl

import (
	"bytes"
	"crypto/md5"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/leatstream/leat/internal/record"
)

// userRecords are what an aggregated record is written of in tests, and what comes out of it.
type userRecords []record.Record

// wrap makes data of a message.
func wrap(message []byte) []byte {
	sum := md5.Sum(message)
	return bytes.Join([][]byte{[]byte(magic), message, sum[:]}, nil)
}

// Parts of a message, by the protobuf library.
func bytesField(number protowire.Number, b string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), b)
}

func varintField(number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func recordField(parts ...[]byte) []byte { return bytesField(3, string(join(parts...))) }

// slowEncode writes a message as the format's page says it, by the protobuf library.
func slowEncode(users userRecords) []byte {
	var partitionKeys, hashKeys, records []byte
	seen := map[string]uint64{}
	index := func(table *[]byte, number protowire.Number, key string) uint64 {
		name := string(rune(number)) + key
		if _, ok := seen[name]; !ok {
			n := uint64(0)
			for other := range seen {
				if other[0] == name[0] {
					n++
				}
			}
			seen[name] = n
			*table = append(*table, bytesField(number, key)...)
		}
		return seen[name]
	}
	for _, u := range users {
		r := varintField(1, index(&partitionKeys, 1, u.PartitionKey))
		if u.ExplicitHashKey != "" {
			r = append(r, varintField(2, index(&hashKeys, 2, u.ExplicitHashKey))...)
		}
		records = append(records, recordField(r, bytesField(3, string(u.Data)))...)
	}
	return join(partitionKeys, hashKeys, records)
}

// slowDecode reads data by the protobuf library, all at once. faults is everything that is wrong with them; there are user records
// only if nothing is.
func slowDecode(data []byte, most int) (users userRecords, faults map[Reason]bool) {
	faults = map[Reason]bool{}
	if len(data) <= 20 || !bytes.HasPrefix(data, []byte(magic)) {
		faults[NotAggregated] = true
		return nil, faults
	}
	message, trailer := data[4:len(data)-16], data[len(data)-16:]
	if sum := md5.Sum(message); !bytes.Equal(sum[:], trailer) {
		faults[BadChecksum] = true
		return nil, faults
	}
	type parsed struct {
		partitionKey, hashKey uint64
		hasHashKey            bool
		data                  []byte
	}
	var partitionKeys, hashKeys []string
	var records []parsed
	fine := slowFields(message, func(number protowire.Number, b []byte, _ uint64) {
		switch {
		case b == nil:
		case number == 1:
			partitionKeys = append(partitionKeys, string(b))
		case number == 2:
			hashKeys = append(hashKeys, string(b))
		case number == 3:
			var p parsed
			hasKey, hasData := false, false
			ok := slowFields(b, func(number protowire.Number, b []byte, v uint64) {
				switch {
				case number == 1 && b == nil:
					p.partitionKey, hasKey = v, true
				case number == 2 && b == nil:
					p.hashKey, p.hasHashKey = v, true
				case number == 3 && b != nil:
					p.data, hasData = b, true
				}
			})
			if !ok || !hasKey || !hasData {
				faults[Malformed] = true
			}
			records = append(records, p)
		}
	})
	if !fine {
		faults[Malformed] = true
	}
	for _, key := range append(partitionKeys, hashKeys...) {
		if len(key) > maxKey {
			faults[LongKey] = true
		}
	}
	if max(len(partitionKeys), len(hashKeys), len(records)) > most {
		faults[TooMany] = true
	}
	if len(records) == 0 {
		faults[Empty] = true
	}
	for i, p := range records {
		u := record.Record{SubSequenceNumber: int64(i), Data: p.data, Aggregated: true}
		if p.partitionKey >= uint64(len(partitionKeys)) || p.hasHashKey && p.hashKey >= uint64(len(hashKeys)) {
			faults[BadIndex] = true
			continue
		}
		u.PartitionKey = partitionKeys[p.partitionKey]
		if p.hasHashKey {
			u.ExplicitHashKey = hashKeys[p.hashKey]
		}
		users = append(users, u)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return users, nil
}

// slowFields tells of each varint and of each field of bytes, whose b is then not nil.
func slowFields(message []byte, tell func(number protowire.Number, b []byte, v uint64)) bool {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || number > protowire.MaxValidNumber {
			return false
		}
		message = message[n:]
		switch kind {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(message)
			if n < 0 {
				return false
			}
			tell(number, nil, v)
		case protowire.BytesType:
			b, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return false
			}
			tell(number, append([]byte{}, b...), 0)
		case protowire.Fixed32Type, protowire.Fixed64Type:
		default:
			return false // groups
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return false
		}
		message = message[n:]
	}
	return true
}
