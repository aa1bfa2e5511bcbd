import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { validateAction, validateWorkflow } from '@action-validator/core';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../oriel.ts';
import { blocks } from './page.ts';
import { ACTION, SOURCE } from './runner.ts';

describe('action.yml', () => {
  // The package contains the JSON Schemas of actions and workflows of SchemaStore.
  it('is valid by the public JSON Schema of actions, which rejects mistakes', () => {
    expect(validateAction(SOURCE).errors).toEqual([]);
    for (const [right, wrong] of [
      ['shell: bash', 'shel: bash'],
      ['using: composite', 'using: compost'],
      ['default: .', 'defaults: .'],
    ] as const) {
      expect(validateAction(SOURCE.replace(right, wrong)).errors, wrong).not.toEqual([]);
    }
  });

  it.each(ACTION.runs.steps.map((step) => [step.id, step] as const))(
    'its step %s takes values by the environment alone, and stops at errors',
    (_, { run, shell, uses }) => {
      expect({ shell, uses }).toEqual({ shell: 'bash' });
      expect(run).toMatch(/^set -euo pipefail\n/);
      expect(run).not.toMatch(/\$\{\{|\beval\b/);
    },
  );
});

describe('config/ci/README.md', () => {
  const [github] = blocks('yaml', 'GitHub') as [string];
  const workflow = parse(github);

  it('has a valid workflow with minimal permissions and pinned actions', () => {
    expect(validateWorkflow(github).errors).toEqual([]);
    expect(workflow.permissions).toEqual({ contents: 'read', 'pull-requests': 'write' });
    const [checkout, own] = workflow.jobs.oriel.steps;
    expect(checkout.uses).toMatch(/^actions\/checkout@[0-9a-f]{40}$/);
    expect(Object.keys(ACTION.inputs)).toEqual(expect.arrayContaining(Object.keys(own.with)));
  });

  it('lists all inputs and outputs', () => {
    const page = readFileSync(join(ROOT, 'config/ci/README.md'), 'utf8');
    const named = (title: string) => {
      const [, table = ''] =
        new RegExp(`\\| ${title} .*\\n\\|.*\\n((?:\\|.*\\n)+)`).exec(page) ?? [];
      const cells = Array.from(table.matchAll(/^\|([^|]+)\|/gm), ([, cell]) => cell!);
      return cells.flatMap((cell) => Array.from(cell.matchAll(/`([\w-]+)`/g), ([, name]) => name!));
    };
    expect(named('Input').toSorted()).toEqual(Object.keys(ACTION.inputs).toSorted());
    expect(named('Output').toSorted()).toEqual(Object.keys(ACTION.outputs).toSorted());
  });

  it('has at most 10 KB', () => {
    expect(statSync(join(ROOT, 'config/ci/README.md')).size).toBeLessThanOrEqual(10 * 1024);
  });
});
