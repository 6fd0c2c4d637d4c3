package wire

// field is the name of what an answer, or a record, consists of.
type field uint8

const (
	unknown field = iota

	// of an answer
	recordsField
	nextField
	behindField
	childrenField

	// of a record
	sequenceField
	keyField
	dataField
	arrivalField
)

// fieldOf is which name this is.
func fieldOf(s text) field {
	raw := s.raw
	if s.form != plain {
		raw = appendText(nil, s)
	}
	switch string(raw) {
	case "Records":
		return recordsField
	case "NextShardIterator":
		return nextField
	case "MillisBehindLatest":
		return behindField
	case "ChildShards":
		return childrenField
	case "SequenceNumber":
		return sequenceField
	case "PartitionKey":
		return keyField
	case "Data":
		return dataField
	case "ApproximateArrivalTimestamp":
		return arrivalField
	}
	return unknown
}

// quickName is the field whose name in CBOR these bytes begin with, and its length, if it is a record's and written as
// the service writes it.
func quickName(in []byte) (f field, n int) {
	if len(in) < 29 {
		return unknown, 0
	}
	switch in[0] {
	case 0x64:
		if string(in[1:5]) == "Data" {
			return dataField, 5
		}
	case 0x6c:
		if string(in[1:13]) == "PartitionKey" {
			return keyField, 13
		}
	case 0x6e:
		if string(in[1:15]) == "SequenceNumber" {
			return sequenceField, 15
		}
	case 0x78:
		if string(in[1:29]) == "\x1bApproximateArrivalTimestamp" {
			return arrivalField, 29
		}
	}
	return unknown, 0
}
