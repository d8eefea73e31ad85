"""The trained trees and what is made of them."""
