import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../../api/action.ts';
import { sendJson } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, SelectField, TextField } from '../../components/field.tsx';
import { ErrorState } from '../../components/states.tsx';
import type { Outcome } from './pages.tsx';

/** A field of a form; an empty one is not sent. */
export interface ActionField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly value?: string;
  readonly type?: 'number' | 'text';
  /** Makes it a list to choose from. */
  readonly choices?: readonly (string | readonly [value: string, label: string])[];
  readonly isRequired?: boolean;
}

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
}

interface ActionDialogProps {
  readonly action: Action;
  readonly onClose: () => void;
  readonly onDone: (outcome: Outcome<Readonly<Record<string, unknown>>>) => void;
}

/** Asks for the options of a command and sends it. What was typed stays where it is refused. */
export function ActionDialog({ action, onClose, onDone }: ActionDialogProps) {
  const { title, command, fields, button, text, isDanger = false } = action;
  const [values, setValues] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(fields.map(({ name, value = '' }) => [name, value])),
  );
  const { error, isBusy, run } = useAction(async () => {
    const [path, options] = command;
    const given = Object.entries(values).filter(([, value]) => value.trim() !== '');
    const json = { ...options, ...Object.fromEntries(given) };
    onDone(await sendJson(`v1/admin/${path}`, { json }));
  });
  const isOwnFault = fields.some(({ name }) => name === error?.param);
  return (
    <Dialog title={title} onClose={onClose}>
      <Form class="stack" onSubmit={run}>
        {text}
        {fields.map(({ name, label, hint, type, choices, isRequired = false }) => {
          const shared = {
            label,
            hint,
            value: values[name]!,
            error: error?.param === name ? error.message : undefined,
            onValue: (value: string) => setValues((known) => ({ ...known, [name]: value })),
          };
          return choices ? (
            <SelectField key={name} {...shared} choices={choices} />
          ) : (
            <TextField
              key={name}
              {...shared}
              inputMode={type === 'number' ? 'decimal' : undefined}
              required={isRequired}
              autocomplete="off"
            />
          );
        })}
        {error && !isOwnFault && <ErrorState error={error} />}
        <p class="row">
          <Button type="submit" kind={isDanger ? 'danger' : 'primary'} isBusy={isBusy}>
            {button}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </p>
      </Form>
    </Dialog>
  );
}
