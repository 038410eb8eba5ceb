package server

// NextLimit is what the collector is told.
var NextLimit = nextLimit

// MaxRefusing is how many connections are refused at a time.
const MaxRefusing = maxRefusing
