package explore

import (
	"fmt"
	"strings"

	"github.com/leatstream/leat/lease"
)

// sight is something that an exploration should have come across; or it shows less than it seems to.
type sight uint8

const (
	fencedSeen     sight = iota // a worker was fenced
	takenSeen                   // a lease was taken from a worker that was fenced
	handedOverSeen              // a lease went from one live worker to another
	releasedSeen                // a lease was given back
	endSeen                     // SHARD_END was written
	deletedSeen                 // a finished lease went
	remadeSeen                  // a lease that was lost was made again
	lateSeen                    // a write that had been given up was applied
	refusedSeen                 // a write was refused
	numSights
)

type sights [numSights]int

func (s sights) String() string {
	names := [...]string{"fenced", "taken over", "handed over", "released", "ended", "deleted", "made again", "written late", "refused"}
	said := make([]string, len(s))
	for i, n := range s {
		said[i] = fmt.Sprintf("%s %d", names[i], n)
	}
	return strings.Join(said, ", ")
}

// saw counts a write that the store takes. Counted are transitions.
func (s *sights) saw(sender string, w lease.Write, old lease.Item, erased bool) {
	was, is := old.Lease, w.Item.Lease
	moved := w.Item.Key.Kind == lease.KindLease && w.Op == lease.Update && is.Owner != was.Owner
	for i, seen := range [numSights]bool{
		fencedSeen:     w.Item.Worker.State == lease.Fenced,
		takenSeen:      moved && was.Owner != "" && is.Owner == sender,
		handedOverSeen: moved && was.Owner == sender && is.Owner != "",
		releasedSeen:   moved && was.Owner == sender && is.Owner == "" && !is.Checkpoint.IsShardEnd(),
		endSeen:        is.Checkpoint.IsShardEnd(),
		deletedSeen:    w.Op == lease.Delete && w.Item.Key.Kind == lease.KindLease,
		remadeSeen:     w.Op == lease.Create && erased,
	} {
		if seen {
			s[i]++
		}
	}
}
