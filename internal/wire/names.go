package wire

// known is the name as a constant, so that it costs no allocation; empty if we know it not.
func known(s text) string {
	raw := s.raw
	if s.form != plain {
		raw = appendText(nil, s)
	}
	switch string(raw) {
	case "Records":
		return "Records"
	case "NextShardIterator":
		return "NextShardIterator"
	case "MillisBehindLatest":
		return "MillisBehindLatest"
	case "ChildShards":
		return "ChildShards"
	case "SequenceNumber":
		return "SequenceNumber"
	case "PartitionKey":
		return "PartitionKey"
	case "Data":
		return "Data"
	case "ApproximateArrivalTimestamp":
		return "ApproximateArrivalTimestamp"
	}
	return ""
}
