import { Code } from './copy.tsx';
import { curlOf, fetchOf, type ShownRequest } from './shown-request.ts';
import { Tabs } from './tabs.tsx';

interface SnippetsProps {
  readonly request: ShownRequest;
  /** Code for further clients, such as an SDK: `['OpenAI SDK', text]`. */
  readonly others?: readonly (readonly [label: string, text: string])[];
}

/** "Copy as curl / SDK": what the view did, to repeat it elsewhere. No key is in it. */
export function Snippets({ request, others = [] }: SnippetsProps) {
  const all = [['curl', curlOf(request)], ['JavaScript', fetchOf(request)], ...others] as const;
  return (
    <Tabs
      label="Copy as"
      tabs={all.map(([label, text]) => ({
        label,
        content: () => <Code label={label} text={text} />,
      }))}
    />
  );
}

interface FromProgramProps extends SnippetsProps {
  /** `This list`. */
  readonly what: string;
}

/** The snippets of a request, folded away. */
export function FromProgram({ what, ...snippets }: FromProgramProps) {
  return (
    <details>
      <summary>{what} from a program</summary>
      <Snippets {...snippets} />
    </details>
  );
}
