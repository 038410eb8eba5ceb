package server

// MemoryLimit is what the collector is told for what is in use.
var MemoryLimit = memoryLimit

// MaxRefusing is how many connections are refused at a time.
const MaxRefusing = maxRefusing
