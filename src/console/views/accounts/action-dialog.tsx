import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { sendJson } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { Code } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form } from '../../components/field.tsx';
import type { FormField, Values } from '../../components/form-field.ts';
import { FormFields } from '../../components/form-fields.tsx';
import { ErrorState, Loading } from '../../components/states.tsx';
import { type ActionField, useDeclared } from './declared-fields.ts';
import type { Outcome } from './lists.ts';

/** A command of the administration API as a form. */
export interface Action {
  readonly title: string;
  /** Command and options that are not asked for: `['keys/revoke', { id }]`. */
  readonly command: readonly [path: string, options: Readonly<Record<string, string>>];
  readonly fields: readonly ActionField[];
  readonly button: string;
  /** What it does, above the fields. */
  readonly text?: ComponentChildren;
  readonly isDanger?: boolean;
  /** Whether only fields are sent that the reader has changed. */
  readonly isChange?: boolean;
  /** Whether the view shows what came of it. */
  readonly isQuiet?: boolean;
}

interface ActionDialogProps {
  readonly action: Action;
  readonly onClose: () => void;
  readonly onDone: (outcome: Outcome<Readonly<Record<string, unknown>>>) => void;
}

/** Asks for the options of a command and sends it. What was typed stays where it is refused. */
export function ActionDialog({ action, onClose, onDone }: ActionDialogProps) {
  const fields = useDeclared(action.command[0], action.fields);
  return (
    <Dialog title={action.title} onClose={onClose}>
      {fields ? <ActionForm {...{ action, fields, onClose, onDone }} /> : <Loading />}
    </Dialog>
  );
}

/** A text of a field as the command takes it. */
function typed(type: ActionField['type'], text: string): unknown {
  if (type === 'boolean') return text === 'true';
  const isNumber = type === 'number' && String(Number(text)) === text.trim();
  return isNumber ? Number(text) : text;
}

function ActionForm({
  action: { command, button, text, isDanger = false, isChange = false },
  fields,
  onClose,
  onDone,
}: ActionDialogProps & { readonly fields: readonly (ActionField & FormField)[] }) {
  const [values, setValues] = useState<Values>(
    Object.fromEntries(fields.map(({ name, value = '' }) => [name, value])),
  );
  const { error, isBusy, run } = useAction(async () => {
    const [path, options] = command;
    const given = fields.flatMap(({ name, type, value = '' }) => {
      const now = values[name]!;
      if (now.trim() === '' || (isChange && now === value)) return [];
      return [[name, typed(type, now)]];
    });
    onDone(
      await sendJson(`v1/admin/${path}`, { json: { ...options, ...Object.fromEntries(given) } }),
    );
  });
  const isOwnFault = fields.some(({ name }) => name === error?.param);
  return (
    <Form class="stack" onSubmit={run}>
      {text}
      <FormFields
        {...{ fields, values }}
        more="More settings"
        errorOf={(name) => (error?.param === name ? error.message : undefined)}
        onValues={(changed) => setValues((known) => ({ ...known, ...changed }))}
      />
      {error && !isOwnFault && <ErrorState error={error} />}
      <p class="row">
        <Button type="submit" kind={isDanger ? 'danger' : 'primary'} isBusy={isBusy}>
          {button}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </p>
    </Form>
  );
}

/** A key that was made, which the server keeps nowhere. */
export function NewKey({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  return (
    <Dialog title="The new key" closesByEscape={false} onClose={onClose}>
      <div class="stack">
        <p>It is shown this once: the server keeps only a hash of it. Copy it now.</p>
        <Code label="API key" text={text} />
        <p>
          <Button kind="primary" onClick={onClose}>
            I have copied it
          </Button>
        </p>
      </div>
    </Dialog>
  );
}
