package wire

// Format is how requests and answers are written.
type Format uint8

// The formats. Auto is CBOR until the service turns out not to speak it, then JSON.
const (
	Auto Format = iota
	JSON
	CBOR
)

// String implements fmt.Stringer.
func (f Format) String() string {
	switch f {
	case JSON:
		return "JSON"
	case CBOR:
		return "CBOR"
	}
	return "auto"
}

// The media types of the two (the service's own names).
const (
	jsonType = "application/x-amz-json-1.1"
	cborType = "application/x-amz-cbor-1.1"
)

// formatOf tells by its first byte what a body is; Auto is neither. A map of CBOR, with tags or without, begins with
// a byte that JSON never has there. So what the answer says of itself need not be believed.
func formatOf(body []byte) Format {
	if len(body) == 0 {
		return Auto
	}
	switch first := body[0]; {
	case first>>5 == cborMap, first>>5 == cborTag:
		return CBOR
	case first == '{', first == ' ', first == '\t', first == '\n', first == '\r':
		return JSON
	}
	return Auto
}

func newDecoder(f Format) decoder {
	if f == CBOR {
		return new(cborDecoder)
	}
	return new(jsonDecoder)
}
