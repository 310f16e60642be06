"""What Triton itself answers: requests that are asked of a Triton server once (record.py), and of hearthd in every test."""
