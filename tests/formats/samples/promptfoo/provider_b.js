module.exports = class { id() { return 'canned-b'; }
  async callApi(prompt) { if (prompt.includes('fail')) return { error: 'made-up provider error' };
    const out = prompt.includes('Ostria') ? 'Velm' : prompt.includes('7 * 8') ? '56' : prompt.includes('Zorb') ? 'six legs' : prompt.includes('Turms') ? '30 m' : 'ok';
    return { output: out, tokenUsage: { total: 10, prompt: 7, completion: 3 }, cost: 0.0001 }; } };
