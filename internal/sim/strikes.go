package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// schedule starts the faults that come by themselves. The others strike in calls and handlers.
func (f *faults) schedule() {
	f.scheduleCalm()
	f.scheduleProcesses()
	f.scheduleServices()
	f.scheduleTable()
	f.scheduleStream()
}

// scheduleCalm has the store away for short times, and nothing else. Once all have settled no lease may change its
// owner (L7).
func (f *faults) scheduleCalm() {
	if f.calmUntil == 0 || slices.Contains(f.w.opt.Off, storeOutage) {
		return
	}
	w, rng := f.w, stream(f.w.opt.Seed, 4)
	w.calmSince = 2 * time.Minute
	w.at(f.calmUntil, "calm is over", func() { w.calmSince = 0 })
	for at := between(rng, 0, time.Minute); at < f.calmUntil; at += between(rng, 10*time.Second, time.Minute) {
		w.at(at, storeOutage.String(), func() {
			if f.strike(storeOutage) {
				f.count[storeOutage]++
				f.storeOut.begin(w, f.between(storeOutage, 0, w.cfg.Failover-w.cfg.Heartbeat), f.how[storeOutage])
				w.note("", "", "store outage: %v", &f.storeOut)
			}
		})
	}
}

func (f *faults) anyHost(rng *rand.Rand) *host { return f.w.hosts[rng.IntN(len(f.w.hosts))] }

// scheduleProcesses: what happens to workers.
func (f *faults) scheduleProcesses() {
	w := f.w
	f.every(crash, 50*time.Second, func(rng *rand.Rand) {
		if h := f.anyHost(rng); h.process != nil {
			f.count[crash]++
			h.crash(rng)
		}
	})
	f.every(pause, 40*time.Second, func(rng *rand.Rand) { f.anyHost(rng).pause(rng) })
	f.every(starved, 90*time.Second, func(rng *rand.Rand) {
		f.count[starved]++
		h := f.anyHost(rng)
		h.starvedUntil = w.now + between(rng, 10*time.Second, time.Minute)
		w.note("", h.name, "is starved until %v", h.starvedUntil)
	})
	f.every(slowWorker, 2*time.Minute, func(rng *rand.Rand) {
		f.count[slowWorker]++
		h := f.anyHost(rng)
		h.slowUntil = w.now + between(rng, 10*time.Second, 2*time.Minute)
		w.note("", h.name, "handles slowly until %v", h.slowUntil)
	})
	f.every(cleanStop, time.Minute, func(rng *rand.Rand) { f.anyHost(rng).stopAndReturn(rng) })
	f.every(rollingRestart, 3*time.Minute, func(rng *rand.Rand) {
		f.count[rollingRestart]++
		for i, h := range w.hosts {
			w.after(time.Duration(i)*between(rng, time.Second, 8*time.Second), "rolling", func() {
				if !f.healed {
					h.stopAndReturn(rng)
				}
			})
		}
	})
	f.every(scaledToZero, 4*time.Minute, f.scaleToZero)
	f.every(scaledOut, 3*time.Minute, f.scaleOut)
}

func (f *faults) scaleToZero(rng *rand.Rand) {
	w := f.w
	f.count[scaledToZero]++
	w.awayUntil = w.now + between(rng, 5*time.Second, 90*time.Second)
	w.note("", "", "scaled to zero until %v", w.awayUntil)
	crash := rng.IntN(2) == 0
	for _, h := range w.hosts {
		switch p := h.process; {
		case p == nil || p.stopping:
		case crash:
			h.end()
		default:
			p.stop()
		}
		if !h.spare {
			w.at(w.awayUntil+between(rng, 0, 3*time.Second), "boot", h.boot)
		}
	}
}

// scaleOut starts the spare hosts' processes, and stops them a while later, in either way.
func (f *faults) scaleOut(rng *rand.Rand) {
	w := f.w
	f.count[scaledOut]++
	w.note("", "", "scaled out")
	stay := between(rng, 5*time.Second, 3*time.Minute)
	for _, h := range w.hosts {
		if !h.spare {
			continue
		}
		w.after(between(rng, 0, 3*time.Second), "boot", h.boot)
		crash := rng.IntN(4) == 0
		w.after(stay+between(rng, 0, 3*time.Second), "scaled in", func() {
			switch p := h.process; {
			case p == nil || p.stopping || f.healed:
			case crash:
				h.end()
			default:
				p.stop()
			}
		})
	}
}

// scheduleServices: what happens to the services, and on the way to them.
func (f *faults) scheduleServices() {
	w := f.w
	f.every(storeOutage, 90*time.Second, func(rng *rand.Rand) {
		f.count[storeOutage]++
		f.storeOut.begin(w, outageLength(rng), rng)
		w.note("", "", "store outage: %v", &f.storeOut)
	})
	f.every(partition, 50*time.Second, func(rng *rand.Rand) {
		f.count[partition]++
		h := f.anyHost(rng)
		h.storeOut.begin(w, outageLength(rng), rng)
		w.note("", h.name, "partition from the store: %v", &h.storeOut)
	})
	f.every(streamOutage, 2*time.Minute, func(rng *rand.Rand) {
		f.count[streamOutage]++
		f.streamOut.begin(w, outageLength(rng), rng)
		w.note("", "", "stream outage: %v", &f.streamOut)
	})
	f.every(streamPartition, time.Minute, func(rng *rand.Rand) {
		f.count[streamPartition]++
		h := f.anyHost(rng)
		h.streamOut.begin(w, outageLength(rng), rng)
		w.note("", h.name, "partition from the stream: %v", &h.streamOut)
	})
}

// scheduleTable: what others do to the table.
func (f *faults) scheduleTable() {
	w := f.w
	f.every(leasesDeleted, 2*time.Minute, func(rng *rand.Rand) {
		f.early(leasesDeleted, func() bool { return w.deleteLeases(rng, false) })
	})
	f.every(allDeleted, 4*time.Minute, func(rng *rand.Rand) {
		f.early(allDeleted, func() bool { return w.deleteLeases(rng, true) })
	})
	f.every(restored, 2*time.Minute, func(rng *rand.Rand) {
		f.early(restored, func() bool { return w.restore(rng) })
	})
	if f.on[restored] {
		w.copyTable()
	}
	f.every(held, 20*time.Second, w.operate)
	f.every(foreignAttribute, 10*time.Second, w.plantAttributes)
	f.every(foreignWrite, 30*time.Second, func(rng *rand.Rand) { w.touch(w.stream.any(rng)) })
}

// scheduleStream: what happens to the stream.
func (f *faults) scheduleStream() {
	w := f.w
	f.every(expiry, 2*time.Minute, func(*rand.Rand) { f.early(expiry, w.stream.expireShard) })
	f.every(retention, time.Minute, func(rng *rand.Rand) {
		f.early(retention, func() bool { return w.stream.expireRecords(rng) })
	})
	f.every(spentQuota, 20*time.Second, func(rng *rand.Rand) {
		f.count[spentQuota]++
		sh := w.stream.any(rng)
		sh.spentUntil = w.now + between(rng, 0, 10*time.Second)
		w.note(sh.id, "", "read by others until %v", sh.spentUntil)
	})
	f.every(reshard, 45*time.Second, func(rng *rand.Rand) {
		if w.stream.reshard(rng) {
			f.count[reshard]++
		}
	})
	f.every(reshardBurst, 2*time.Minute, func(rng *rand.Rand) {
		f.count[reshardBurst]++
		for i := range 2 + rng.IntN(4) {
			w.after(time.Duration(i)*between(rng, 0, 2*time.Second), "burst", func() { w.stream.reshardNewest(rng) })
		}
	})
}

// early strikes while there is time: the leases that somebody has to make again, and the children of a shard
// whose lease was never made, are found by two audits in a row.
func (f *faults) early(k fault, hit func() bool) {
	if f.w.now < f.w.opt.Span-4*f.w.cfg.Relist && hit() {
		f.count[k]++
	}
}
