import { relative, resolve } from 'node:path';
import { printable } from '../../operations/batch/filename.ts';
import { printStderr } from '../terminal/terminal.ts';
import type { Report } from './report.ts';

/** A message of GitHub Actions that is shown at a file. */
interface Annotation {
  readonly level: 'error' | 'warning';
  readonly file: string;
  readonly title: string;
  readonly message: string;
}

/**
 * Adds annotations to a report: errors of failed files and of outputs that --check finds wrong, and warnings.
 * They go to standard error, which the runner reads too, so that documents on standard output stay as they are.
 */
export function withAnnotations(report: Report): Report {
  return {
    ...report,
    add(record) {
      const { inputFilename: file, status, reason, warnings = [] } = record;
      const error = status === 'planned' && reason ? reason : record.error;
      if (error) annotate({ level: 'error', file, title: error.code, message: error.message });
      for (const { code, message } of warnings) {
        annotate({ level: 'warning', file, title: code, message });
      }
      return report.add(record);
    },
  };
}

/** Prints a workflow command. */
export function annotate({ level, file, title, message }: Annotation): void {
  const properties = Object.entries({ file: fromWorkspace(file), title: `oriel: ${title}` });
  const listed = properties.map(([name, value]) => `${name}=${escapeProperty(value)}`).join(',');
  printStderr(`::${level} ${listed}::${escapeData(message)}`, { isCommand: true });
}

/** GitHub finds files by their path in the repository. */
function fromWorkspace(file: string): string {
  const { GITHUB_WORKSPACE: workspace } = process.env;
  return workspace ? relative(workspace, resolve(file)) : file;
}

/** Escapes the text of a workflow command (actions/toolkit, packages/core/src/command.ts). */
function escapeData(text: string): string {
  const escaped = text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  return printable(escaped);
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
