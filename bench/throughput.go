package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// throughputCase is one line of the throughput's table.
type throughputCase struct {
	name   string
	role   string
	server staticServer
	told   contender
	base   int // the case that it is compared with: an index
}

// throughputCases are, for each size and with and without aggregation, the bare loop first.
func throughputCases() (all []throughputCase) {
	for _, aggregated := range []bool{false, true} {
		for _, size := range []int{1024, 128} {
			base := len(all)
			add := func(name, role string, cbor bool, told contender) {
				format := map[bool]string{false: "JSON", true: "CBOR"}[cbor]
				kind := map[bool]string{false: "", true: ", aggregated"}[aggregated]
				told.Size, told.JSON = size, !cbor
				all = append(all, throughputCase{
					name: fmt.Sprintf("%d B%s, %s, %s", size, kind, format, name), role: role, base: base,
					server: staticServer{CBOR: cbor, Aggregated: aggregated, Size: size}, told: told,
				})
			}
			if aggregated {
				add("bare loop and leat's decoder", "bare", false, contender{Apart: true})
			} else {
				add("bare loop", "bare", false, contender{})
			}
			for _, cbor := range []bool{false, true} {
				add("leat PerShard", "leat", cbor, contender{})
				add("leat PerKey(64)", "leat", cbor, contender{PerKey: 64})
			}
		}
	}
	return all
}

const warmUp = time.Second

// throughput measures what a record costs.
func throughput(ctx context.Context, o options) (table, error) {
	t := table{
		title:   "What a record costs, from the wire to the handler: the whole consumer, against the bare loop over the AWS SDK",
		columns: []string{"MB/CPU s", "records/CPU s", "x bare", "allocs/record", "peak MiB", "MB/s"},
	}
	cases := throughputCases()
	measured := make([][]figures, len(cases))
	for round := range o.rounds {
		for i, c := range cases {
			if o.only != "" && !strings.Contains(c.name, o.only) {
				continue
			}
			f, err := c.measure(ctx, o, round)
			if err != nil {
				return t, fmt.Errorf("%s: %w", c.name, err)
			}
			measured[i] = append(measured[i], f)
		}
	}
	perCPU := make([]float64, len(cases))
	for i, c := range cases {
		if len(measured[i]) == 0 {
			continue
		}
		of := func(figure func(figures) float64) float64 {
			var values []float64
			for _, f := range measured[i] {
				values = append(values, figure(f))
			}
			return median(values)
		}
		mega := float64(c.told.Size) / 1e6
		perCPU[i] = of(func(f figures) float64 { return float64(f.Records) / f.CPU.Seconds() })
		ratio := -1.0
		if perCPU[c.base] > 0 {
			ratio = perCPU[i] / perCPU[c.base]
		}
		t.rows = append(t.rows, row{c.name, []float64{
			perCPU[i] * mega, perCPU[i], ratio,
			of(func(f figures) float64 { return float64(f.Allocations) / float64(f.Records) }),
			of(func(f figures) float64 { return float64(f.Peak) / (1 << 20) }),
			of(func(f figures) float64 { return float64(f.Records) * mega / f.Wall.Seconds() }),
		}})
	}
	return t, nil
}

func (c throughputCase) measure(ctx context.Context, o options, round int) (figures, error) {
	url, stop, err := server(ctx, "static", c.server)
	if err != nil {
		return figures{}, err
	}
	defer stop()
	told := c.told
	told.URL, told.Warm, told.Period = url, warmUp, o.period
	if o.profile != "" {
		name := strings.NewReplacer(" ", "-", ",", "", "(", "", ")", "", "'", "").Replace(c.name)
		told.Profile = filepath.Join(o.profile, fmt.Sprintf("%s-%d.pprof", name, round))
	}
	return measure[figures](ctx, c.role, told)
}
