package sim

import (
	"fmt"
	"slices"
	"strconv"
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

// parse takes over what is written of a simpler run: kinds of faults to leave out, strikes to keep, and the size of the
// group.
func (opt *Options) parse(off, keep, group string) (err error) {
	if opt.Off, err = parseFaults(off); err != nil {
		return err
	}
	for _, text := range strings.FieldsFunc(keep, func(r rune) bool { return r == ',' }) {
		var s strike
		at := strings.LastIndex(text, " ")
		if at < 0 {
			return fmt.Errorf("strike %q has no number", text)
		}
		kinds, err := parseFaults(text[:at])
		if err != nil {
			return err
		}
		if s.n, err = strconv.Atoi(text[at+1:]); err != nil {
			return fmt.Errorf("strike %q: %w", text, err)
		}
		s.kind = kinds[0]
		opt.Keep = append(opt.Keep, s)
	}
	if group != "" {
		if _, err := fmt.Sscanf(group, "%d/%d", &opt.Workers, &opt.Shards); err != nil {
			return fmt.Errorf("group %q is not workers/shards: %w", group, err)
		}
	}
	return nil
}

// String is the strike as it is given on the command line.
func (s strike) String() string { return fmt.Sprintf("%v %d", s.kind, s.n) }
