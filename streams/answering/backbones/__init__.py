"""Model backbones: any compatible endpoint, recorded replies, and the rehearsal simulator."""
