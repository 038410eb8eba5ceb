package service

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"

	"galley/internal/cms"
)

// errNoSecretKey is the error of a node that can't encrypt the secrets of webhooks.
var errNoSecretKey = cms.Conflict("Webhooks need a key that encrypts their secrets, start the server with --secret-key")

// sealSecret encrypts the secret of a webhook, which has to be used again, under the
// key of the installation.
func (s *Service) sealSecret(webhookID cms.ID, secret string) ([]byte, error) {
	box, err := s.secretBox()
	if err != nil {
		return nil, errNoSecretKey
	}
	return box.Seal(nil, nil, []byte(secret), webhookID[:]), nil
}

// openSecret decrypts what sealSecret has encrypted.
func (s *Service) openSecret(webhookID cms.ID, sealed []byte) (string, error) {
	box, err := s.secretBox()
	if err != nil {
		return "", err
	}
	secret, err := box.Open(nil, nil, sealed, webhookID[:])
	if err != nil {
		return "", fmt.Errorf("webhook %s: its secret was encrypted under another key than this node has, all nodes need the same --secret-key", webhookID)
	}
	return string(secret), nil
}

func (s *Service) secretBox() (cipher.AEAD, error) {
	if s.SecretKey == nil {
		return nil, errNoSecretKey
	}
	key, err := s.SecretKey()
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
