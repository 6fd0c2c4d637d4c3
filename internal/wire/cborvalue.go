package wire

import (
	"errors"
	"math"
	"math/big"

	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
)

// number reads a number of any kind: an integer, a bignum or a float, with tags or without.
func (c *cborReader) number(tags int) float64 {
	major, info, n := c.head()
	switch {
	case c.err != nil:
	case major == cborUint:
		return float64(n)
	case major == cborNegative:
		return -1 - float64(n)
	case major == cborTag && (n == 2 || n == 3):
		s := c.string(cborBytes)
		if len(s.raw) > 1024 {
			c.fail(errors.New("a number of more than 1,024 bytes"))
		}
		f, _ := new(big.Float).SetInt(new(big.Int).SetBytes(appendRaw(nil, s))).Float64()
		if n == 3 {
			f = -1 - f
		}
		return f
	case major == cborTag && tags < maxDepth:
		return c.number(tags + 1)
	case major == cborSimple && info == 25:
		return half(uint16(n))
	case major == cborSimple && info == 26:
		return float64(math.Float32frombits(uint32(n)))
	case major == cborSimple && info == 27:
		return math.Float64frombits(n)
	default:
		c.fail(wrong(cborUint, major))
	}
	return 0
}

// half is a float of 16 bits (RFC 8949, appendix D).
func half(bits uint16) float64 {
	exponent, mantissa := int(bits>>10&31), float64(bits&1023)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(mantissa, -24)
	case 31:
		if f = math.Inf(1); mantissa != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(mantissa+1024, exponent-25)
	}
	if bits>>15 != 0 {
		f = -f
	}
	return f
}

// time reads a number, or a date as a string (tag 0).
func (c *cborReader) time() float64 {
	for c.at < len(c.in) && c.in[c.at]>>1 == 0xc0>>1 {
		c.at++ // the two tags of times
	}
	if c.at < len(c.in) && c.in[c.at]>>5 == cborUint {
		return c.number(0)
	}
	at := c.at
	if major, _, _ := c.untagged(); c.err != nil || major != cborText {
		if c.err == nil {
			c.at = at
		}
		return c.number(0)
	}
	c.at = at
	s := c.string(cborText)
	if c.err != nil {
		return 0
	}
	since, err := dateSince(string(appendText(nil, s)))
	if err != nil {
		c.fail(err)
	}
	return since
}

// children reads ChildShards. They come once in a shard's life, so that this need not be fast.
func (c *cborReader) children() (shards []types.ChildShard) {
	for left := c.open(cborArray); !c.over(&left) && c.err == nil; left = less(left) {
		var shard types.ChildShard
		c.entries(func(name string) {
			switch name {
			case "ShardId":
				shard.ShardId = c.pointer()
			case "ParentShards":
				shard.ParentShards = nil
				for left := c.open(cborArray); !c.over(&left) && c.err == nil; left = less(left) {
					if p := c.pointer(); p != nil {
						shard.ParentShards = append(shard.ParentShards, *p)
					}
				}
			case "HashKeyRange":
				keys := new(types.HashKeyRange)
				c.entries(func(name string) {
					switch name {
					case "StartingHashKey":
						keys.StartingHashKey = c.pointer()
					case "EndingHashKey":
						keys.EndingHashKey = c.pointer()
					default:
						c.skip(0)
					}
				})
				shard.HashKeyRange = keys
			default:
				c.skip(0)
			}
		})
		shards = append(shards, shard)
	}
	return shards
}

// entries reads a map: visit reads the value of each name. Nulls and keys that are not texts are skipped.
func (c *cborReader) entries(visit func(name string)) {
	for left := c.open(cborMap); !c.over(&left) && c.err == nil; left = less(left) {
		at := c.at
		if major, _, _ := c.untagged(); c.err != nil {
			return
		} else if c.at = at; major != cborText {
			c.skip(0)
			c.skip(0)
			continue
		}
		name := c.string(cborText)
		if c.err == nil && !c.null() && c.err == nil {
			visit(string(appendText(nil, name)))
		}
	}
}

func (c *cborReader) pointer() *string {
	s := c.string(cborText)
	if c.err != nil {
		return nil
	}
	copied := string(appendText(nil, s))
	return &copied
}
