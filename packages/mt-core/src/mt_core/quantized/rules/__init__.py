"""What operators that exist for ordinary tensors as well do to quantized ones."""
