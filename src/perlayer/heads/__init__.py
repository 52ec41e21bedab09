"""Readouts retrained on frozen backbones: is the gap in the heads or in the features?"""
