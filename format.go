package leat

import (
	"fmt"

	"github.com/leatstream/leat/internal/wire"
)

// Format is how the calls that read records are written. The records are the same in either; all other calls are JSON.
type Format int

// The formats.
const (
	FormatAuto Format = iota // CBOR; JSON once the server turns out not to speak it
	FormatCBOR               // CBOR 1.1 only, which the Java SDK speaks; a server that does not is an error
	FormatJSON               // JSON 1.1 only, which the other SDKs speak, and proxies can read
)

// String is the format's name: "auto", "CBOR" or "JSON".
func (f Format) String() string {
	switch f {
	case FormatAuto, FormatCBOR, FormatJSON:
		return f.wire().String()
	}
	return fmt.Sprintf("Format(%d)", int(f))
}

func (f Format) wire() wire.Format {
	switch f {
	case FormatCBOR:
		return wire.CBOR
	case FormatJSON:
		return wire.JSON
	}
	return wire.Auto
}

func (f Format) valid() error {
	if f < FormatAuto || f > FormatJSON {
		return fmt.Errorf("%v is none of FormatAuto, FormatCBOR and FormatJSON", f)
	}
	return nil
}
