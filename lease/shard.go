package lease

// Shard is a shard as ListShards or the end of its parent shows it.
type Shard struct {
	ID        string
	Parents   []string // sorted: none, one (split) or two (merge); parents past retention stay named
	HashRange HashRange
	Closed    bool // takes no further records
}
