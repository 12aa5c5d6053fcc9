import robustirl

robustirl.enable_x64()
