/** The command that takes a checkpoint away as a Hugging Face model directory, on the machine of the server. */
export function exportCommand(runId: string, step: number): string {
  return `swell export-model ${runId} ${runId}-step-${step} --step ${step}`;
}
