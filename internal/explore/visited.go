package explore

// visited is a set of hashes that are not 0: eight bytes for each, at most two thirds full.
type visited struct {
	slots []uint64
	n     int
}

func newVisited() *visited { return &visited{slots: make([]uint64, 1<<16)} }

// add adds a hash; it says whether it is new.
func (v *visited) add(hash uint64) bool {
	if 3*v.n >= 2*len(v.slots) {
		old := v.slots
		v.slots = make([]uint64, 2*len(old))
		for _, h := range old {
			if h != 0 {
				v.insert(h)
			}
		}
	}
	if !v.insert(hash) {
		return false
	}
	v.n++
	return true
}

func (v *visited) insert(hash uint64) bool {
	mask := uint64(len(v.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		switch v.slots[i] {
		case 0:
			v.slots[i] = hash
			return true
		case hash:
			return false
		}
	}
}
