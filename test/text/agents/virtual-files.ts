/** Contents by path. */
export type VirtualFiles = Map<string, string>;

/** The output of the commands that the scripted model runs. */
export function runCommand(command: string, files: VirtualFiles): string {
  if (command === 'pwd') return '/project\n';
  const path = /^wc -w (\S+)$/.exec(command)?.[1] ?? '';
  const content = files.get(path);
  if (content === undefined) return `not found: ${command}\n`;
  return `${content.trim().split(/\s+/).length} ${path}\n`;
}
