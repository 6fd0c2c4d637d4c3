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
