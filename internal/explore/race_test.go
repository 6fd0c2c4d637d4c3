//go:build race

package explore

func init() { few, racing = 5_000, true }
