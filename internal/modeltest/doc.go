// Package modeltest runs random sequences of operations against the service
// and against a small model that is obviously right, and compares what readers
// see.
package modeltest
