"""What torch_npu contributes beside operators: `transfer_to_npu`."""
