package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Shrink looks for a simpler run that breaks the same invariant: it leaves out one kind of fault after another, and
// keeps out those that the seed fails without. It returns the options of the simplest run, for a trace that
// shows what matters and little else.
func Shrink(opt Options, v *Violation) Options {
	for k := range numFaults {
		if slices.Contains(opt.Off, k) {
			continue
		}
		try := opt
		try.Off = append(slices.Clone(opt.Off), k)
		if r := Run(try); r.Violation != nil && r.Violation.Invariant == v.Invariant {
			opt = try
		}
	}
	return opt
}

func joinFaults(kinds []fault) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.String()
	}
	return strings.Join(names, ",")
}

// parseFaults is the inverse of joinFaults.
func parseFaults(s string) ([]fault, error) {
	var kinds []fault
	for name := range strings.SplitSeq(s, ",") {
		if name == "" {
			continue
		}
		k := slices.Index(faultNames[:], name)
		if k < 0 {
			return nil, fmt.Errorf("no fault is called %q: it is one of %s", name, strings.Join(faultNames[:], ", "))
		}
		kinds = append(kinds, fault(k))
	}
	return kinds, nil
}
