// Package modeltest runs random operations against the service and against a small
// model, and compares what readers see.
package modeltest
