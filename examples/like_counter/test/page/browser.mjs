// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A headless Chromium, controlled by the DevTools protocol over a pipe. This needs no package.

import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';

const longestCommand = 90_000;

export class Browser {
    static async start(program) {
        const browser = new Browser();
        browser.folder = mkdtempSync(join(tmpdir(), 'browser-'));
        const options = ['--headless=new', '--remote-debugging-pipe', `--user-data-dir=${browser.folder}`, '--no-first-run',
            '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update',
            '--disable-extensions', '--hide-scrollbars', 'about:blank'];
        if (process.getuid() === 0) options.unshift('--no-sandbox');   // Root cannot have the sandbox.
        browser.process = spawn(program, options, {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
        browser.ended = new Promise(resolve => browser.process.once('close', resolve));
        browser.process.once('error', error => browser.fail(error));
        browser.process.once('close', () => browser.fail(new Error('the browser has ended')));
        browser.process.stdio[3].on('error', () => {});
        browser.read(browser.process.stdio[4]);
        const {targetInfos} = await browser.send('Target.getTargets');
        const {targetId} = targetInfos.find(target => target.type === 'page');
        browser.session = (await browser.send('Target.attachToTarget', {targetId, flatten: true})).sessionId;
        for (const domain of ['Page', 'Runtime', 'Log', 'Accessibility']) await browser.send(`${domain}.enable`);
        return browser;
    }

    constructor() {
        this.answers = new Map();
        this.complaints = [];   // errors and warnings of the console
        this.sent = 0;
    }

    read(stream) {
        let rest = '';
        stream.setEncoding('utf8');
        stream.on('data', data => {
            const messages = (rest + data).split('\0');
            rest = messages.pop();
            for (const message of messages) this.receive(JSON.parse(message));
        });
    }

    receive({id, method, params, result, error}) {
        const answer = this.answers.get(id);
        this.answers.delete(id);
        if (answer && error) answer.reject(new Error(error.message));
        else if (answer) answer.resolve(result);
        else if (method === 'Runtime.exceptionThrown') this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        else if (method === 'Runtime.consoleAPICalled' && ['error', 'warning', 'assert'].includes(params.type)) this.complaints.push(JSON.stringify(params.args));
        else if (method === 'Log.entryAdded' && ['error', 'warning'].includes(params.entry.level)) this.complaints.push(`${params.entry.text} ${params.entry.url ?? ''}`);
    }

    fail(error) {
        for (const answer of this.answers.values()) answer.reject(error);
        this.answers.clear();
    }

    send(method, params = {}) {
        const id = ++this.sent;
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), longestCommand);
            const end = act => value => { clearTimeout(timer); act(value); };
            this.answers.set(id, {resolve: end(resolve), reject: end(reject)});
            this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId: this.session}) + '\0');
        });
    }

    async open(url, width, height) {
        await this.size(width, height);
        await this.send('Page.navigate', {url});
        // While the page changes, a function fails, or runs in the page before.
        const isLoaded = url => document.readyState === 'complete' && location.href === url;
        await this.wait(`${url} is loaded`, () => this.run(isLoaded, new URL(url).href).catch(() => false));
    }

    size(width, height) {
        return this.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: width < 500});
    }

    prefer(features) {
        return this.send('Emulation.setEmulatedMedia', {features: Object.entries(features).map(([name, value]) => ({name, value}))});
    }

    // Runs a function in the page. Its arguments go there as JSON.
    async run(act, ...given) {
        const expression = `(${act})(${given.map(value => JSON.stringify(value)).join(', ')})`;
        const {result, exceptionDetails} = await this.send('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }

    // Waits until a function in the page returns something true, and returns that.
    until(what, act, ...given) {
        return this.wait(what, () => this.run(act, ...given));
    }

    // The same for a function here. The deadline only ends a test that hangs: it is later than the end of a burst on
    // a very slow machine.
    async wait(what, ask) {
        const deadline = Date.now() + 200_000;
        for (;;) {
            const value = await ask();
            if (value) return value;
            if (Date.now() > deadline) throw new Error(`not within the time allowed: ${what}`);
            await sleep(50);
        }
    }

    // By the keyboard, because the page may move below a mouse. The action before must have been answered: an action
    // may refuse to begin while another is under way.
    async press(selector) {
        await this.until(`${selector} can be pressed`, selector => {
            const found = document.querySelector(selector);
            if (!found || found.disabled || document.querySelector('[data-waits]')) return false;
            found.focus();
            return document.activeElement === found;
        }, selector);
        await this.type('Enter', 13, '\r');
    }

    async type(name, number, text) {
        const key = {key: name, code: name, windowsVirtualKeyCode: number};
        await this.send('Input.dispatchKeyEvent', {type: 'keyDown', text, ...key});
        await this.send('Input.dispatchKeyEvent', {type: 'keyUp', ...key});
    }

    async controls() {
        const {nodes} = await this.send('Accessibility.getFullAXTree');
        const roles = ['button', 'switch', 'textbox', 'combobox', 'checkbox', 'link', 'listbox'];
        return nodes.filter(node => !node.ignored && roles.includes(node.role?.value))
            .map(node => ({role: node.role.value, name: node.name?.value ?? ''}));
    }

    async keepPicture(file) {
        const {data} = await this.send('Page.captureScreenshot', {format: 'png', captureBeyondViewport: true});
        writeFileSync(file, Buffer.from(data, 'base64'));
    }

    async end() {
        if (this.process.exitCode === null) {
            this.session = undefined;
            await Promise.race([this.send('Browser.close').catch(() => {}), sleep(2000)]);
            await Promise.race([this.ended, sleep(5000)]);
            if (this.process.exitCode === null) this.process.kill('SIGKILL');
            await this.ended;
        }
        rmSync(this.folder, {recursive: true, force: true, maxRetries: 5, retryDelay: 100});
    }
}
